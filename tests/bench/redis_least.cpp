// SPDX-License-Identifier: Apache-2.0
// The least that a program must do which runs a command under a lock of the Redis at 127.0.0.1:PORT and never leaves it
// running without: the other side in scripts/bench. No options, no queue, no messages; what fails ends with 69.
//
//   redis_least PORT COMMAND [ARG...]
//
// A guard process of its own takes the lock by a script, renews it in a thread, watches over the command, which it
// kills when this process dies, and gives the lock back by a script. This process starts the command when it is told
// so.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace {

constexpr int kFailed = 69;
constexpr int kTtlSeconds = 30;

constexpr char kTake[] =
    "if redis.call('SET',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then "
    "local t=redis.call('TIME') "
    "local n=string.format('%.0f',math.max((redis.call('GET',KEYS[2]) or 0)+1,t[1]*1e6+t[2])) "
    "redis.call('SET',KEYS[2],n) return n end return '0'";
constexpr char kRenew[] =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('PEXPIRE',KEYS[1],ARGV[2]) end return 0";
constexpr char kGive[] = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0";

int server = -1;
char owner[33];

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  _exit(kFailed);
}

void connect_to(const char* port) {
  server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
}

/// The first character of what it answered that is not of the protocol: '0', or the begin of something else.
char ask(const char* script, std::size_t script_size) {
  char request[1024];
  const int size = std::snprintf(request, sizeof request,
                                 "*7\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n2\r\n$5\r\nleast\r\n$11\r\nleast:fence\r\n"
                                 "$32\r\n%s\r\n$5\r\n%d000\r\n",
                                 script_size, script, owner, kTtlSeconds);
  char answer[256];
  if (send(server, request, static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) fail("send");
  const ssize_t got = read(server, answer, sizeof answer - 1);
  if (got <= 0) fail("read");
  answer[got] = 0;
  const char* line = answer[0] == '$' ? std::strchr(answer, '\n') : answer;
  return line ? line[1] : '0';
}

void* renew(void*) {
  for (;;) {
    sleep(kTtlSeconds / 3);
    if (ask(kRenew, sizeof kRenew - 1) == '0') _exit(kFailed);
  }
}

/// Of the process that watches over the command; `supervisor` says its pid, then one byte more when it has ended.
[[noreturn]] void guard(int supervisor, const char* port) {
  setsid();
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random) fail("getrandom");
  for (int i = 0; i < 16; ++i) std::snprintf(owner + 2 * i, 3, "%02x", random[i]);
  connect_to(port);
  if (ask(kTake, sizeof kTake - 1) == '0') _exit(75);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, renew, nullptr) != 0) fail("pthread_create");
  pid_t command = 0;
  char word = 'g';
  if (write(supervisor, &word, 1) != 1) fail("write");
  if (read(supervisor, &command, sizeof command) != sizeof command) _exit(kFailed);
  if (read(supervisor, &word, 1) != 1) kill(command, SIGKILL);
  pthread_cancel(thread);
  if (ask(kGive, sizeof kGive - 1) == '0') _exit(79);
  if (write(supervisor, &word, 1) != 1) _exit(kFailed);
  _exit(0);
}

int run(int guardian, char** command) {
  char word = 0;
  if (read(guardian, &word, 1) != 1) return kFailed;
  const pid_t pid = vfork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || write(guardian, &pid, sizeof pid) != sizeof pid || waitpid(pid, &status, 0) != pid) return kFailed;
  if (write(guardian, &word, 1) != 1 || read(guardian, &word, 1) != 1) return kFailed;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    guard(ends[1], argv[1]);
  }
  close(ends[1]);
  return run(ends[0], argv + 2);
}
