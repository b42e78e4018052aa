// SPDX-License-Identifier: Apache-2.0
// spawn_pairs ROUNDS A... --- B...
// Starts the two commands in turn, ROUNDS times each, and prints one line: the median of A from spawn to exit in µs,
// the median of B, and A divided by B. In turn, because the speed of a shared machine drifts within a second: each half
// of a pair sees the same machine. Which of the two goes first alternates.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

extern char** environ;

namespace {

constexpr int kWarmUps = 20;

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

// From before the spawn until the child is reaped. A command that fails would make the figure a lie.
double time_once(char** command) {
  const double start = now_us();
  pid_t pid = -1;
  int status = 0;
  if (const int error = posix_spawnp(&pid, command[0], nullptr, nullptr, command, environ)) {
    std::fprintf(stderr, "spawn_pairs: %s: %s\n", command[0], std::strerror(error));
    std::exit(1);
  }
  while (waitpid(pid, &status, 0) < 0) {
  }
  const double took = now_us() - start;
  if (status != 0) {
    std::fprintf(stderr, "spawn_pairs: %s ended with wait status %#x\n", command[0], static_cast<unsigned>(status));
    std::exit(1);
  }
  return took;
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  int split = 2;
  while (split < argc && std::strcmp(argv[split], "---") != 0) ++split;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 0;
  if (rounds <= 0 || split == 2 || split + 1 >= argc) {
    std::fputs("usage: spawn_pairs ROUNDS A... --- B...\n", stderr);
    return 64;
  }
  argv[split] = nullptr;
  char** const commands[2] = {argv + 2, argv + split + 1};

  std::vector<double> times[2];
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (const int turn : {0, 1}) {
      const int which = (round & 1) ? 1 - turn : turn;
      const double took = time_once(commands[which]);
      if (round >= 0) times[which].push_back(took);
    }
  }
  const double a = median(times[0]);
  const double b = median(times[1]);
  std::printf("%.1f %.1f %.3f\n", a, b, a / b);
  return 0;
}
