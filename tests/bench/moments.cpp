// SPDX-License-Identifier: Apache-2.0
// The small commands of scripts/bench for a lock that is handed over. Moments are CLOCK_MONOTONIC in µs.
//
//   moments                            ends at once: a process start and nothing else
//   moments stamp FILE [GATE]          appends "BEGIN END" to FILE: when its main began, and when it was about to end.
//                                      In between it waits 8 ms, so that whoever held before it has quite ended, its
//                                      keeper too, which stays for 5 ms to let others go first; or
//                                      until GATE (a FIFO) is opened for writing.
//   moments starts ROUNDS              prints how long each start of a process ("moments") took, to its end; each
//                                      after a pause as long as that of "stamp": a start right after another one finds
//                                      warm caches, which who was handed a lock does not
//   moments round-trips PORT ROUNDS    prints how long each PING took, to the Redis server at 127.0.0.1:PORT
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern char** environ;

namespace {

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

int failed(const char* what) {
  std::perror(what);
  return 1;
}

/// As long as a lock is held.
void hold() {
  const timespec pause{0, 8'000'000};
  nanosleep(&pause, nullptr);
}

int stamp(double begin, const char* file, const char* gate) {
  const int out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out < 0) return failed(file);
  if (gate) {
    if (open(gate, O_RDONLY | O_CLOEXEC) < 0) return failed(gate);
  } else {
    hold();
  }
  char line[64];
  const int length = std::snprintf(line, sizeof line, "%.1f %.1f\n", begin, now_us());
  return write(out, line, static_cast<std::size_t>(length)) == length ? 0 : failed(file);
}

int starts(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    hold();
    char name[] = "moments";
    char* argv[] = {name, nullptr};
    const double before = now_us();
    pid_t pid = -1;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv, environ) != 0) return failed("posix_spawn");
    waitpid(pid, nullptr, 0);
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

int round_trips(int port, int rounds) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed("connect");
  for (int i = 0; i < rounds; ++i) {
    char answer[64];
    const double before = now_us();
    if (write(fd, "PING\r\n", 6) != 6 || read(fd, answer, sizeof answer) <= 0) return failed("PING");
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const double begin = now_us();
  if (argc == 1) return 0;
  const char* word = argv[1];
  if (std::strcmp(word, "stamp") == 0 && (argc == 3 || argc == 4))
    return stamp(begin, argv[2], argc == 4 ? argv[3] : nullptr);
  if (std::strcmp(word, "starts") == 0 && argc == 3) return starts(std::atoi(argv[2]));
  if (std::strcmp(word, "round-trips") == 0 && argc == 4) return round_trips(std::atoi(argv[2]), std::atoi(argv[3]));
  std::fputs("usage: moments [stamp FILE [GATE] | starts ROUNDS | round-trips PORT ROUNDS]\n", stderr);
  return 64;
}
