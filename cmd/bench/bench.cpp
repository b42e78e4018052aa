// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/bench.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "cmd/show/exit_status.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/keeper/control.h"
#include "lib/run/signal_inbox.h"

namespace dlock {
namespace {

constexpr Duration kReleaseTime = std::chrono::seconds(5);

LockSpec bench_spec(const LockName& key, const WaitPolicy& wait) {
  return {.name = key, .owner = Owner::random(), .wait = wait, .reason = "dlock bench", .ancestor = {}};
}

/// Who had the lock last.
struct Baton {
  std::atomic<std::int64_t> released_at;  ///< boot clock in ns
  std::atomic<pid_t> last_holder;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

void run_lane(const TakeLock& take, const BenchPlan& plan, const Log& log, TimePoint until, Baton& baton,
              BenchLane& lane) {
  SystemClock clock;  // the parent's may own a timer, which fork would make us share
  const Runtime runtime{clock, log};
  LockSpec spec = bench_spec(plan.key, {.until = until});
  while (lane.rounds < plan.rounds && clock.now() < until) {
    spec.owner = Owner::random();
    const auto release = take(spec, runtime);
    const TimePoint granted = clock.now();
    Result<void> released;
    if (release) {
      const std::int64_t before = baton.released_at.load();
      if (const pid_t last = baton.last_holder.exchange(getpid()); last != 0 && last != getpid()) {
        lane.sample_ns[lane.samples++] = granted.time_since_epoch().count() - before;
      }
      baton.released_at.store(clock.now().time_since_epoch().count());
      released = (*release)();
      if (released) ++lane.rounds;
    }
    const Error* error = !release ? &release.error() : !released ? &released.error() : nullptr;
    if (!error) continue;
    if (error->code == ErrorCode::kBusy) return;  // the time is over
    return lane.fail(*error);
  }
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
    TRY_ASSIGN(const auto release, take(spec, runtime));
    TRY(release());
    samples.push_back(clock.now() - begin);
  }
  result.took = clock.now() - start;
  result.round = Latencies(std::move(samples));
  return result;
}

/// The text, or the JSON line, that bench_command() prints.
std::string bench_text(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended, const Look& look) {
  const auto headline = [&](const std::string& text) { return painted(text, Paint::kBold, look.colour) + '\n'; };
  std::string text =
      headline("lock + unlock, one process: " + std::to_string(per_second(alone.round.count(), alone.took)) +
               " a second in " + store);
  text += "  " + percentile_text(alone.round) + '\n';
  text += headline("hand-over, " + std::to_string(plan.processes) +
                   " processes: " + std::to_string(per_second(contended.rounds, contended.took)) + " locks a second");
  text += "  " + percentile_text(contended.hand_over) + '\n';
  text += "  each process got it " + std::to_string(contended.fewest) + " to " + std::to_string(contended.most) +
          " times\n";
  return text;
}

std::string bench_json(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended) {
  JsonWriter json("dlock.bench/2");
  json.field("store", store);
  json.key("alone").begin_object().key("took_ms").ms(alone.took);
  json.field("locks_per_second", per_second(alone.round.count(), alone.took)).key("lock_unlock");
  put_latencies(json, alone.round);
  json.end_object().key("contended").begin_object().field("processes", plan.processes);
  json.key("took_ms").ms(contended.took).field("locks_per_second", per_second(contended.rounds, contended.took));
  json.field("fewest", contended.fewest).field("most", contended.most).key("hand_over");
  put_latencies(json, contended.hand_over);
  return json.end_object().end_object().line();
}

}  // namespace

Result<ContendedResult> bench_contended(const TakeLock& take, const Log& log, const BenchPlan& plan) {
  const Shared<BenchLane> lanes(plan.processes);
  const Shared<Baton> baton(1);
  if (!lanes.valid() || !baton.valid())
    return system_error("cannot share memory with the benchmark's processes", errno);
  const SystemClock clock;
  const TimePoint start = clock.now();
  const auto pids = start_processes(
      plan.processes, [&](std::size_t i) { run_lane(take, plan, log, start + plan.time, baton[0], lanes[i]); });
  for (const pid_t pid : pids) reap(pid);
  if (pids.size() < 2) return Error{ErrorCode::kSystem, "cannot start the benchmark's processes", "see: ulimit -u"};
  ContendedResult result;
  result.took = clock.now() - start;
  result.fewest = plan.rounds;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    result.rounds += lanes[i].rounds;
    result.fewest = std::min(result.fewest, lanes[i].rounds);
    result.most = std::max(result.most, lanes[i].rounds);
  }
  TRY_ASSIGN(auto hand_over, gathered(lanes, pids.size()));
  result.hand_over = std::move(hand_over);
  return result;
}

TakeLock take_session(OpenSession open) {
  return [open = std::move(open)](const LockSpec& spec, const Runtime& runtime) -> Result<Release> {
    TRY_ASSIGN(auto opened, open(spec));
    const std::shared_ptr<LockSession> session = std::move(opened);
    auto answer = acquire_and_wait(*session, runtime.clock);
    if (auto* refused = std::get_if<Refused>(&answer)) return std::move(refused->error);
    return Release([session, &runtime] { return release_and_wait(*session, runtime.clock, kReleaseTime); });
  };
}

TakeLock take_kept(KeepLock keep) {
  return [keep = std::move(keep)](const LockSpec& spec, const Runtime& runtime) -> Result<Release> {
    TRY_ASSIGN(auto opened, keep(spec, runtime));
    const std::shared_ptr<LockDriver> lock = std::move(opened);
    NoControl control;
    auto answer = lock->acquire(control);
    if (!answer) return Error{ErrorCode::kInternal, "the lock was neither granted nor refused"};
    if (auto* refused = std::get_if<Refused>(&*answer)) return std::move(refused->error);
    return Release([lock, &runtime] { return lock->release(runtime.clock.now() + kReleaseTime); });
  };
}

int bench_command(const Options& options, const BenchStore& store, const Runtime& runtime, Output& out) {
  heed_children();
  // One name for all: a store that keeps something for each name it has ever seen keeps one thing.
  auto key = LockName::parse("dlock.bench");
  if (!key) return fail(runtime.log, key.error());
  BenchPlan plan{.key = std::move(*key)};
  if (options.count > 0) plan.rounds = static_cast<std::size_t>(options.count);
  const auto alone = bench_alone(store.take, runtime, plan);
  if (!alone) return fail(runtime.log, alone.error());
  const auto contended = bench_contended(store.take, runtime.log, plan);
  if (!contended) return fail(runtime.log, contended.error());
  return print(out, runtime.log,
               options.json ? bench_json(store.name, plan, *alone, *contended)
                            : bench_text(store.name, plan, *alone, *contended, out.look()));
}

}  // namespace dlock
