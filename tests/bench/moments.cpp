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
//   moments rate PORT CLIENTS WORD...  prints how often a second so many processes together had that command answered
//                                      by that server, each one after the other; a "#" is a number of their own
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
#include <string>

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

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

int round_trips(int port, int rounds) {
  const int fd = connect_to(port);
  if (fd < 0) return failed("connect");
  for (int i = 0; i < rounds; ++i) {
    char answer[64];
    const double before = now_us();
    if (write(fd, "PING\r\n", 6) != 6 || read(fd, answer, sizeof answer) <= 0) return failed("PING");
    std::printf("%.1f\n", now_us() - before);
  }
  return 0;
}

/// As the protocol has it: the number of the words, then each behind its length.
std::string request_of(char** words, const std::string& number) {
  std::string text;
  int count = 0;
  for (; words[count]; ++count) {
    const std::string word = std::strcmp(words[count], "#") == 0 ? number : words[count];
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return "*" + std::to_string(count) + "\r\n" + text;
}

long ask_for_a_second(int fd, char** words) {
  const std::string prefix = std::to_string(getpid()) + "-";
  long rounds = 0;
  for (const double end = now_us() + 1e6; now_us() < end; ++rounds) {
    const std::string request = request_of(words, prefix + std::to_string(rounds));
    char answer[256];
    const auto size = static_cast<ssize_t>(request.size());
    if (write(fd, request.data(), request.size()) != size || read(fd, answer, sizeof answer) <= 0) _exit(1);
    if (answer[0] == '-') _exit(failed("the server refuses"));
  }
  return rounds;
}

int rate(int port, int clients, char** words) {
  int channel[2];
  if (pipe(channel) != 0) return failed("pipe");
  for (int i = 0; i < clients; ++i) {
    if (fork() != 0) continue;
    const int fd = connect_to(port);
    if (fd < 0) _exit(failed("connect"));
    const long rounds = ask_for_a_second(fd, words);
    _exit(write(channel[1], &rounds, sizeof rounds) == sizeof rounds ? 0 : 1);
  }
  close(channel[1]);
  long all = 0;
  for (long rounds = 0; read(channel[0], &rounds, sizeof rounds) == sizeof rounds;) all += rounds;
  while (wait(nullptr) > 0) {
  }
  std::printf("%ld\n", all);
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
  if (std::strcmp(word, "rate") == 0 && argc > 4) return rate(std::atoi(argv[2]), std::atoi(argv[3]), argv + 4);
  std::fputs(
      "usage: moments [stamp FILE [GATE] | starts ROUNDS | round-trips PORT ROUNDS |\n"
      "                rate PORT CLIENTS WORD...]\n",
      stderr);
  return 64;
}
