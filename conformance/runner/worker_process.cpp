// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/worker_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace conform {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string said(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace

StartWorker forked(BecomeWorker become) {
  return {[become = std::move(become)](int channel) {
    // What is in the buffers now would be written twice.
    static_cast<void>(std::fflush(nullptr));
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, 0);  // so that what a case starts ends with it
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      _exit(become(channel));
    }
    return pid;
  }};
}

std::unique_ptr<WorkerProcess> WorkerProcess::start(const StartWorker& start_worker) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  const pid_t pid = start_worker.make(ends[1]);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return nullptr;
  }
  setpgid(pid, pid);
  return std::make_unique<WorkerProcess>(pid, ends[0]);
}

WorkerProcess::~WorkerProcess() {
  end();
  close(channel_);
}

std::string WorkerProcess::wait_ready(milliseconds within) {
  const auto until = Clock::now() + within;
  for (;;) {
    if (const auto line = lines_.take()) return why_not_ready(*line).value_or("it does not speak as a worker does");
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return fmt::format("it is not ready after {} ms", within.count());
    pollfd one{channel_, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(left.count())) > 0 && !lines_.fill())
      return fmt::format("it ended with {}", ended_with());
  }
}

std::string WorkerProcess::reap(milliseconds within) {
  const auto until = Clock::now() + within;
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || got < 0) {
      kill(-pid_, SIGKILL);  // what it left behind; it may be ours to bury
      while (waitpid(-pid_, nullptr, WNOHANG) > 0) {
      }
      pid_ = -1;
      return got < 0 ? std::string("exit unknown") : said(status);
    }
    if (Clock::now() >= until) return {};
    std::this_thread::sleep_for(milliseconds(1));
  }
}

bool WorkerProcess::dead() const {
  siginfo_t info{};
  return pid_ <= 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_);
}

std::string WorkerProcess::ended_with() {
  if (pid_ <= 0) return "exit unknown";
  // It has closed its end, so it is on its way out; a core dump may take a while.
  std::string how = reap(milliseconds(5000));
  return how.empty() ? end() : how;
}

std::string WorkerProcess::end() {
  if (pid_ <= 0) return "exit unknown";
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  return reap(milliseconds(10000));
}

}  // namespace conform
