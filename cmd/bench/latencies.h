// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/base/json_writer.h"
#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// How long something took, many times.
class Latencies {
 public:
  Latencies() = default;
  explicit Latencies(std::vector<Duration> samples);
  std::size_t count() const { return samples_.size(); }
  /// As percentile() in lib/history/history.h; 0 without samples.
  Duration percentile(int percent) const;
  Duration longest() const { return percentile(100); }
  const std::vector<Duration>& samples() const { return samples_; }

 private:
  std::vector<Duration> samples_;  ///< ascending
};

/// "p50 4.8 µs  p90 5.1 µs  p99 12 µs  longest 1.2 ms".
std::string percentile_text(const Latencies& latencies);

/// "850 ns", "4.8 µs", "12 ms", "1.3 s": two significant digits at least.
std::string fine_duration(Duration length);

/// How many there were in each second of `took`.
std::int64_t per_second(std::size_t count, Duration took);

/// {"count":..,"p50_ms":..,"p90_ms":..,"p99_ms":..,"longest_ms":..}
void put_latencies(JsonWriter& json, const Latencies& latencies);

/// `count` objects, all zero, in memory that the processes of a benchmark share with their parent.
template <typename T>
class Shared {
 public:
  explicit Shared(int count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  ~Shared() {
    if (valid()) munmap(memory_, bytes_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  bool valid() const { return memory_ != MAP_FAILED; }
  T& operator[](std::size_t i) const { return static_cast<T*>(memory_)[i]; }

 private:
  std::size_t bytes_;
  void* memory_;
};

/// What one process leaves for its parent.
struct BenchLane {
  std::atomic<bool> ready;  ///< it is connected, or will never be
  std::size_t rounds;
  std::size_t samples;
  bool failed;
  ErrorCode failure;
  char message[512];
  std::int64_t sample_ns[kMostBenchRounds];

  void fail(const Error& error) {
    failed = true;
    failure = error.code;
    std::strncpy(message, error.message.c_str(), sizeof message - 1);
    ready = true;
  }
};

/// The samples of the first `count`, or the failure of one of them.
inline Result<Latencies> gathered(const Shared<BenchLane>& lanes, std::size_t count) {
  std::vector<Duration> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const BenchLane& lane = lanes[i];
    if (lane.failed) return Error{lane.failure, lane.message};
    for (std::size_t n = 0; n < lane.samples; ++n) samples.emplace_back(lane.sample_ns[n]);
  }
  return Latencies(std::move(samples));
}

/// Forks processes that call run(NUMBER) and end; fewer than `count` (errno) if the system has no more. They die with
/// their parent.
template <typename Run>
std::vector<pid_t> start_processes(int count, Run run) {
  std::vector<pid_t> started;
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) run(static_cast<std::size_t>(i));
      _exit(0);
    }
    started.push_back(pid);
  }
  return started;
}

}  // namespace dlock
