// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/worker_spawner.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace conform {
namespace {

/// A descriptor to the process at the other end of `socket`.
bool hand_over(int socket, int descriptor) {
  char byte = 1;
  iovec one{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &one;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/// The descriptor that comes next; -1 when the other end is closed.
int take_over(int socket) {
  char byte = 0;
  iovec one{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &one;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const head = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  return descriptor;
}

/// A process whose parent is the one that asked, `owner`: the fork between them ends at once, and `owner` takes in what
/// is orphaned below it. -1 when there is none.
pid_t make_worker(int control, int channel, pid_t owner, const BecomeWorker& work) {
  int pids[2];
  if (pipe(pids) != 0) return -1;
  static_cast<void>(std::fflush(nullptr));
  const pid_t between = fork();
  if (between == 0) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(control);
      close(pids[0]);
      close(pids[1]);
      setpgid(0, 0);  // so that what a case starts ends with it
      while (getppid() != owner) {
        if (kill(owner, 0) != 0) _exit(1);
        usleep(100);
      }
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != owner) _exit(1);
      _exit(work(channel));
    }
    _exit(write(pids[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  close(pids[1]);
  pid_t made = -1;
  if (between > 0) {
    if (::read(pids[0], &made, sizeof made) != sizeof made) made = -1;
    waitpid(between, nullptr, 0);
  }
  close(pids[0]);
  return made;
}

}  // namespace

std::shared_ptr<WorkerSpawner> WorkerSpawner::start(const std::function<int(int control)>& become) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  static_cast<void>(std::fflush(nullptr));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return nullptr;
  }
  if (pid == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    _exit(become(ends[1]));
  }
  close(ends[1]);
  return std::make_shared<WorkerSpawner>(pid, ends[0]);
}

WorkerSpawner::~WorkerSpawner() {
  close(control_);
  waitpid(pid_, nullptr, 0);
}

pid_t WorkerSpawner::spawn(int channel) {
  pid_t pid = -1;
  if (!hand_over(control_, channel)) return -1;
  ssize_t got = 0;
  do {
    got = recv(control_, &pid, sizeof pid, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  return got == sizeof pid ? pid : -1;
}

int spawn_workers(int control, const BecomeWorker& work) {
  const pid_t owner = getppid();
  for (int channel = take_over(control); channel >= 0; channel = take_over(control)) {
    const pid_t pid = make_worker(control, channel, owner, work);
    close(channel);
    if (send(control, &pid, sizeof pid, MSG_NOSIGNAL) != sizeof pid) return 1;
  }
  return 0;
}

}  // namespace conform
