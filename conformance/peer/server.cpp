// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/server.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "peer/answers.hpp"

namespace conform::peer {

namespace {

using Clock = std::chrono::steady_clock;

/// How long a client may take to say who it is, and how long a process may take to end when its client is gone.
constexpr std::chrono::milliseconds kHelloWithin{2000};
constexpr std::chrono::milliseconds kEndsWithin{3000};

struct Client {
  pid_t pid = -1;
  Socket socket;  // kept here too, to see that it is lost when the process can't
  std::optional<Clock::time_point> lost;
};

struct CurrentRun {
  std::uint64_t token = 0;
  pid_t pid = -1;  // of the connection that began it: the run ends with it
  std::string from;
  std::string device;
  unsigned connections = 0;
};

/// Signals of this process that are read instead of taken.
class Signals {
public:
  Signals() {
    sigemptyset(&mask_);
    for (const int one : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&mask_, one);
    sigprocmask(SIG_BLOCK, &mask_, &before_);
    fd_ = signalfd(-1, &mask_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    close(fd_);
    give_back();
  }
  void give_back() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int fd() const noexcept { return fd_; }
  /// Whether one of those that end the server came.
  bool ends() const {
    signalfd_siginfo info{};
    bool end = false;
    while (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      end = end || info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM;
    }
    return end;
  }

private:
  sigset_t mask_{}, before_{};
  int fd_ = -1;
};

class Server {
public:
  Server(const ServeOptions& options, Socket listener) : options_(options), listener_(std::move(listener)) {}
  ~Server() {
    for (const Client& client : clients_) {
      kill(client.pid, SIGKILL);
      waitpid(client.pid, nullptr, 0);
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void run() {
    const std::string address = address_of(listener_.fd(), false);
    if (options_.listening) {
      const auto at = host_port(address, 0);
      options_.listening(at ? at->port : 0);
    }
    options_.say(fmt::format("serves runs at {}, list version {} ({:016x}); Ctrl-C ends it", address,
                             options_.list_version, options_.list_hash));
    while (!signals_.ends()) {
      reap();
      std::vector<pollfd> fds{{listener_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
      for (const Client& client : clients_) {
        if (!client.lost) fds.push_back({client.socket.fd(), POLLRDHUP, 0});
      }
      const bool waits = std::any_of(clients_.begin(), clients_.end(), [](const Client& one) { return one.lost; });
      if (poll(fds.data(), fds.size(), waits ? 100 : -1) < 0) continue;
      for (std::size_t at = 2; at < fds.size(); ++at) {
        if (fds[at].revents != 0) lost(fds[at].fd);
      }
      if (fds[0].revents != 0) greet();
    }
    if (run_) options_.say(fmt::format("the run of {} is cut off", run_->from));
  }

private:
  void greet() {
    Socket socket = accept_on(listener_.fd());
    if (socket.fd() < 0) return;
    const std::string from = address_of(socket.fd(), true);
    std::optional<Packet> frame = receive_frame(socket.fd(), kLongestHello, kHelloWithin);
    std::optional<Hello> hello;
    if (frame) hello = hello_from(*std::move(frame));
    if (!hello) {
      options_.say(fmt::format("{} does not speak as `verbena conform --peer` does", from));
      return;
    }
    Welcome welcome;
    welcome.refused = why_not(*hello);
    if (!welcome.refused.empty()) {
      options_.say(fmt::format("{} ({}) is refused: {}", from, hello->host, welcome.refused));
      send_frame(socket.fd(), packet_of(welcome));
      return;
    }
    welcome.token = hello->token != 0 ? hello->token : new_token();
    welcome.host = host_here();
    welcome.boot = boot_here();
    const pid_t parent = getpid();
    static_cast<void>(std::fflush(nullptr));
    const pid_t pid = fork();
    if (pid == 0) become_connection(parent, std::move(socket), welcome);
    if (pid < 0) {
      welcome.refused = "no process can be made there";
      send_frame(socket.fd(), packet_of(welcome));
      return;
    }
    if (hello->token == 0) {
      run_ = CurrentRun{welcome.token, pid, fmt::format("{} ({})", from, hello->host), hello->device, 0};
      options_.say(fmt::format("a run of {} on {} begins, seed {}", run_->from, run_->device, hello->seed));
    }
    ++run_->connections;
    clients_.push_back({pid, std::move(socket), std::nullopt});
  }

  std::string why_not(const Hello& hello) const {
    if (std::string wrong = mismatch(hello, options_.list_version, options_.list_hash, options_.verbena);
        !wrong.empty())
      return wrong;
    if (hello.token == 0 && run_) return fmt::format("a run of {} is under way; try again when it is over", run_->from);
    if (hello.token != 0 && (!run_ || run_->token != hello.token)) return "the run that this belongs to is over";
    return {};
  }

  [[noreturn]] void become_connection(pid_t parent, Socket socket, const Welcome& welcome) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signals_.give_back();
    for (const int one : {SIGINT, SIGTERM, SIGCHLD}) signal(one, SIG_DFL);
    listener_.close();
    for (Client& client : clients_) client.socket.close();
    const std::shared_ptr<verbena::Verbs> verbs = options_.verbs();
    if (send_frame(socket.fd(), packet_of(welcome))) serve_connection(socket.fd(), *verbs);
    _exit(0);
  }

  void lost(int fd) {
    for (Client& client : clients_) {
      if (client.socket.fd() == fd) client.lost = Clock::now();
    }
  }

  void reap() {
    for (auto client = clients_.begin(); client != clients_.end();) {
      int status = 0;
      if (waitpid(client->pid, &status, WNOHANG) == client->pid) {
        if (WIFSIGNALED(status))
          options_.say(fmt::format("the process of a connection ended with signal {}", WTERMSIG(status)));
        if (run_ && run_->pid == client->pid) {
          options_.say(fmt::format("the run of {} is over, {} connections", run_->from, run_->connections));
          run_.reset();
          for (Client& other : clients_) {
            if (!other.lost) other.lost = Clock::now();
          }
        }
        client = clients_.erase(client);
        continue;
      }
      if (client->lost && Clock::now() - *client->lost > kEndsWithin) {
        kill(client->pid, SIGKILL);
        client->lost = Clock::now();
      }
      ++client;
    }
  }

  static std::uint64_t new_token() {
    std::uint64_t token = 0;
    while (token == 0) {
      if (getrandom(&token, sizeof token, 0) != static_cast<ssize_t>(sizeof token)) token = 1;
    }
    return token;
  }

  const ServeOptions& options_;
  Socket listener_;
  Signals signals_;
  std::vector<Client> clients_;
  std::optional<CurrentRun> run_;
};

}  // namespace

void serve_connection(int fd, verbena::Verbs& verbs) {
  Answers answers(verbs);
  while (std::optional<Packet> question = receive_frame(fd, kLongestFrame)) {
    const std::optional<Packet> answer = answers.answer(*std::move(question));
    if (!answer || !send_frame(fd, *answer)) return;
  }
}

verbena::Result<void> serve(const ServeOptions& options) {
  auto listener = listen_on(options.where);
  if (!listener) return verbena::Failure(std::move(listener.error()));
  Server(options, *std::move(listener)).run();
  return {};
}

}  // namespace conform::peer
