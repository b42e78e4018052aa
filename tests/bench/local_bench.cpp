// SPDX-License-Identifier: Apache-2.0
// The local backend against its yardsticks, each as a ratio of medians with both sides taken in turn.
//
//   local_bench [lock|fair|handover]...     without words: all of them
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/acquisition.h"
#include "tests/support/stores.h"

extern char** environ;

namespace dlock::testing {
namespace {

double microseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000.0; }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <typename Work>
double timed(Work work) {
  SystemClock clock;
  const TimePoint before = clock.now();
  work();
  return microseconds(clock.now() - before);
}

/// A process of ours; killed at the end.
class Child {
 public:
  template <typename Work>
  explicit Child(Work work) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    _exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

template <typename Shared>
Shared& shared_memory() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(71);
  return *new (memory) Shared;
}

/// One acquisition and release through the port, against flock(2) on an open file with a record of 128 bytes.
void lock_and_unlock() {
  constexpr int kRounds = 300;
  constexpr int kBatch = 100;
  TemporaryDirectory directory;
  const auto backend = connect_store("local:" + directory.path());
  const UniqueFd file(open((directory.path() + "/flock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const LockSpec spec = exclusive("key");
  SystemClock clock;
  char record[128] = {};
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int round = 0; round < kRounds; ++round) {
    ours.push_back(timed([&] {
                     for (int i = 0; i < kBatch; ++i) {
                       const auto session = std::move(*backend->open(spec));
                       session->acquire(clock.now());
                       session->next_event(clock.now());
                       session->release(clock.now());
                       session->next_event(clock.now());
                     }
                   }) /
                   kBatch);
    theirs.push_back(timed([&] {
                       for (int i = 0; i < kBatch; ++i) {
                         flock(file.get(), LOCK_EX);
                         record[0] = static_cast<char>(i);
                         if (pwrite(file.get(), record, sizeof record, 0) < 0) return;
                         flock(file.get(), LOCK_UN);
                       }
                     }) /
                     kBatch);
  }
  std::printf("lock+unlock          %8.2f us   flock(2)+record %8.2f us   ratio %.2f\n", median(ours), median(theirs),
              median(ours) / median(theirs));
}

/// Jain's index of the number of grants of 8 processes that all want the lock all the time.
void fairness() {
  constexpr int kProcesses = 8;
  struct Counts {
    std::atomic<long> grants[kProcesses] = {};
  };
  Counts& counts = shared_memory<Counts>();
  TemporaryDirectory directory;
  {
    std::vector<Child> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.emplace_back([&counts, &directory, i] {
        const auto backend = connect_store("local:" + directory.path());
        for (;;) {
          Acquisition lock(*backend, exclusive("key"));
          lock.held();
          usleep(1000);
          counts.grants[i]++;
          lock.release();
        }
      });
    }
    sleep(3);
  }
  double sum = 0;
  double squares = 0;
  for (const auto& grants : counts.grants) {
    sum += static_cast<double>(grants);
    squares += static_cast<double>(grants) * static_cast<double>(grants);
  }
  std::printf("fairness, 8 processes %7.0f grants in 3 s, Jain index %.4f\n", sum, sum * sum / (kProcesses * squares));
}

double start_of_true() {
  return timed([] {
    const char* argv[] = {"true", nullptr};
    pid_t pid = 0;
    if (posix_spawnp(&pid, "true", nullptr, nullptr, const_cast<char**>(argv), environ) == 0) waitpid(pid, nullptr, 0);
  });
}

/// From a release to the next waiter's grant in another process.
void hand_over(int waiters) {
  struct Times {
    std::atomic<std::int64_t> released{0};
    std::atomic<int> done{0};
    std::atomic<std::int64_t> took[4096] = {};
  };
  Times& times = shared_memory<Times>();
  const int wanted = 600;
  TemporaryDirectory directory;
  std::vector<double> starts;
  {
    std::vector<Child> children;
    for (int i = 0; i < waiters; ++i) {
      children.emplace_back([&times, &directory] {
        SystemClock clock;
        const auto backend = connect_store("local:" + directory.path());
        for (;;) {
          Acquisition lock(*backend, exclusive("key"));
          lock.held();
          const std::int64_t now = clock.now().time_since_epoch().count();
          const std::int64_t before = times.released;
          const int index = times.done++;
          if (before != 0 && index < 4096) times.took[index] = now - before;
          usleep(500);
          times.released = clock.now().time_since_epoch().count();
          lock.release();
        }
      });
    }
    eventually([&] { return times.done >= wanted; });
  }
  for (int i = 0; i < 100; ++i) starts.push_back(start_of_true());
  std::vector<double> took;
  for (int i = wanted / 4; i < wanted; ++i) took.push_back(static_cast<double>(times.took[i]) / 1000.0);
  const double start = median(starts);
  std::printf("hand-over, %2d waiters %7.1f us   process start %8.1f us   hand-over + start / start %.2f\n", waiters,
              median(took), start, (median(took) + start) / start);
}

}  // namespace
}  // namespace dlock::testing

int main(int argc, char** argv) {
  using namespace dlock::testing;
  const auto wanted = [&](const char* word) {
    return argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* a) { return std::strcmp(a, word) == 0; });
  };
  if (wanted("lock")) lock_and_unlock();
  if (wanted("fair")) fairness();
  if (wanted("handover")) {
    for (const int waiters : {2, 64}) hand_over(waiters);
  }
  return 0;
}
