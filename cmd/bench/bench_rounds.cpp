// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/bench_rounds.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/keeper/control.h"
#include "lib/lock/blocking_session.h"

namespace dlock {
namespace {

constexpr std::size_t kMaxRounds = kMostBenchRounds;
constexpr Duration kReleaseTime = std::chrono::seconds(5);

LockSpec bench_spec(const LockName& key, const WaitPolicy& wait) {
  return {.name = key, .owner = Owner::random(), .wait = wait, .reason = "dlock bench", .ancestor = {}};
}

/// What one contending process leaves for its parent, in shared memory.
struct BenchLane {
  std::size_t rounds;
  std::size_t samples;
  int failure;  ///< of ErrorCode, -1: none
  char message[512];
  std::int64_t hand_over_ns[kMaxRounds];
};

struct Track {
  std::atomic<std::int64_t> released_at;  ///< when the last holder let go, boot clock in ns
  std::atomic<pid_t> last_holder;
  BenchLane lanes[];
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

/// Memory that all contending processes see.
class SharedTrack {
 public:
  explicit SharedTrack(int lanes) : bytes_(sizeof(Track) + static_cast<std::size_t>(lanes) * sizeof(BenchLane)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  ~SharedTrack() {
    if (valid()) munmap(memory_, bytes_);
  }
  SharedTrack(const SharedTrack&) = delete;
  SharedTrack& operator=(const SharedTrack&) = delete;
  bool valid() const { return memory_ != MAP_FAILED; }
  Track& operator*() const { return *static_cast<Track*>(memory_); }  // fresh pages: all zero, as it should begin

 private:
  std::size_t bytes_;
  void* memory_;
};

void run_lane(const TakeLock& take, const BenchPlan& plan, const Log& log, TimePoint until, Track& track,
              BenchLane& lane) {
  SystemClock clock;  // the parent's may own a timer, which fork would make us share
  const Runtime runtime{clock, log};
  LockSpec spec = bench_spec(plan.key, {.until = until});
  lane.failure = -1;
  while (lane.rounds < std::min(plan.rounds, kMaxRounds) && clock.now() < until) {
    spec.owner = Owner::random();
    const auto give_back = take(spec, runtime);
    const TimePoint granted = clock.now();
    Result<void> released;
    if (give_back) {
      const std::int64_t before = track.released_at.load();
      if (const pid_t last = track.last_holder.exchange(getpid()); last != 0 && last != getpid()) {
        lane.hand_over_ns[lane.samples++] = granted.time_since_epoch().count() - before;
      }
      track.released_at.store(clock.now().time_since_epoch().count());
      released = (*give_back)();
      if (released) ++lane.rounds;
    }
    const Error* error = !give_back ? &give_back.error() : !released ? &released.error() : nullptr;
    if (!error) continue;
    if (error->code == ErrorCode::kBusy) return;  // the time is over
    lane.failure = static_cast<int>(error->code);
    std::strncpy(lane.message, error->message.c_str(), sizeof lane.message - 1);
    return;
  }
}

/// Starts one process for each lane; fewer if the system has no more.
std::vector<pid_t> start_lanes(const TakeLock& take, const BenchPlan& plan, const Log& log, TimePoint until,
                               Track& track) {
  std::vector<pid_t> started;
  const pid_t parent = getpid();
  for (int i = 0; i < plan.processes; ++i) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) run_lane(take, plan, log, until, track, track.lanes[i]);
      _exit(0);
    }
    started.push_back(pid);
  }
  return started;
}

}  // namespace

TakeLock take_session(OpenSession open) {
  return [open = std::move(open)](const LockSpec& spec, const Runtime& runtime) -> Result<GiveBack> {
    auto opened = open(spec);
    if (!opened) return opened.error();
    const std::shared_ptr<LockSession> session = std::move(*opened);
    auto answer = acquire_and_wait(*session, runtime.clock);
    if (auto* refused = std::get_if<Refused>(&answer)) return std::move(refused->error);
    return GiveBack([session, &runtime] { return release_and_wait(*session, runtime.clock, kReleaseTime); });
  };
}

TakeLock take_kept(KeepLock keep) {
  return [keep = std::move(keep)](const LockSpec& spec, const Runtime& runtime) -> Result<GiveBack> {
    auto opened = keep(spec, runtime);
    if (!opened) return opened.error();
    const std::shared_ptr<LockDriver> lock = std::move(*opened);
    NoControl control;
    auto answer = lock->acquire(control);
    if (!answer) return Error{ErrorCode::kInternal, "the lock was neither granted nor refused"};
    if (auto* refused = std::get_if<Refused>(&*answer)) return std::move(refused->error);
    return GiveBack([lock, &runtime] { return lock->release(runtime.clock.now() + kReleaseTime); });
  };
}

Result<AloneResult> bench_alone(const TakeLock& take, const Runtime& runtime, const BenchPlan& plan) {
  Clock& clock = runtime.clock;
  AloneResult result;
  std::vector<Duration> samples;
  LockSpec spec = bench_spec(plan.key, {.once = true, .until = {}});
  const TimePoint start = clock.now();
  while (samples.size() < plan.rounds && clock.now() - start < plan.time) {
    spec.owner = Owner::random();
    const TimePoint begin = clock.now();
    const auto give_back = take(spec, runtime);
    if (!give_back) return give_back.error();
    if (auto released = (*give_back)(); !released) return released.error();
    samples.push_back(clock.now() - begin);
  }
  result.took = clock.now() - start;
  result.round = Latencies(std::move(samples));
  return result;
}

Result<ContendedResult> bench_contended(const TakeLock& take, const Log& log, const BenchPlan& plan) {
  const SharedTrack track(plan.processes);
  if (!track.valid()) return system_error("cannot share memory with the processes of the benchmark", errno);
  const SystemClock clock;
  const TimePoint start = clock.now();
  const auto pids = start_lanes(take, plan, log, start + plan.time, *track);
  for (const pid_t pid : pids) reap(pid);
  if (pids.size() < 2)
    return Error{ErrorCode::kSystem, "cannot start the processes of the benchmark", "see: ulimit -u"};
  ContendedResult result;
  result.took = clock.now() - start;
  result.fewest = plan.rounds;
  std::vector<Duration> samples;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const BenchLane& lane = (*track).lanes[i];
    if (lane.failure >= 0) return Error{static_cast<ErrorCode>(lane.failure), lane.message};
    result.rounds += lane.rounds;
    result.fewest = std::min(result.fewest, lane.rounds);
    result.most = std::max(result.most, lane.rounds);
    for (std::size_t n = 0; n < lane.samples; ++n) samples.push_back(Duration(lane.hand_over_ns[n]));
  }
  result.hand_over = Latencies(std::move(samples));
  return result;
}

}  // namespace dlock
