// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "backends/redis/deployment/lock.h"
#include "backends/redis/native/layout.h"
#include "lib/base/random.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestPollPause = 250ms;

/// One lock in the native layout. Each waiter gets a message on its own channel when its turn has come; the first in
/// the queue, and every waiter while another client's lock is at the key, also hears of changes of the key; a timer on
/// the remaining lease covers changes without a message. The holder of an exclusive lock hears of changes of its key
/// (revoke, force-release, an operator's DEL); a reader and the holder of a permit get a message on their own channel
/// (revoke, force-release).
class NativeLock final : public LayoutLock {
 public:
  NativeLock(std::unique_ptr<Deployment> deployment, NativeNames names, std::string store, LockSpec spec,
             ReplicaDemand replicas, const Runtime& runtime)
      : LayoutLock(std::move(deployment), std::move(store), std::move(spec), runtime),
        layout_(*deployment_, spec_.name, std::move(names), store_name_, replicas, runtime.clock),
        info_(who_text(spec_)) {}

 private:
  Attempt attempt(TimePoint until, Control& control) override {
    auto answer = ask(until, [&](TimePoint limit) { return layout_.acquire(make_ask(), limit, &control); });
    if (!answer) return failed(answer.error());
    if (const auto* grant = std::get_if<AttemptGranted>(&*answer)) return granted(*grant);
    by_ = std::get<AttemptBusy>(*answer);
    mute_ = mute_ || by_->mute;
    trace_busy(by_->place, !by_->arrival.empty());
    return Busy{by_->foreign};
  }

  Result<LockState> describe(Control& control) override { return layout_.read_state(look_end(), &control); }

  /// Out of the queue, and whatever an unanswered attempt may have taken is given back, on a new connection if need be.
  /// A request that went with a refused AUTH was perhaps done by a server without a password, and so will be this; the
  /// same with a node of a cluster.
  void withdraw() override {
    const bool queued = by_ && !by_->arrival.empty();
    const bool reached = queued || unknown_ || denied_ || connection();
    if (!asked_ || !reached) return;
    if (acquisition_.patience().is_once() && !unknown_ && by_) return;  // never in the queue
    (void)layout_.release(spec_.owner, &spec_.owner, withdraw_end());
  }

  Layout& layout() override { return layout_; }
  Connection* connection() const override { return deployment_->current(layout_.names().key); }
  std::string wake_channel() const override { return layout_.names().wake + spec_.owner.text(); }
  bool has_own_channel() const override { return true; }

  std::optional<bool> is_still_ours(TimePoint until) override {
    if (spec_.mode != Mode::kExclusive) return is_still_listed(until);
    const auto value = watch_key(true, until, control_);
    return value ? std::optional(value->text == spec_.owner.text()) : std::nullopt;
  }

  const char* taken_away() const override { return "it expired or was deleted on "; }

  NativeAsk make_ask() const {
    return {.owner = spec_.owner,
            .mode = spec_.mode,
            .ttl = spec_.ttl,
            .lock_delay = spec_.lock_delay,
            .permits = spec_.permits,
            .fair = spec_.fair,
            .take = spec_.take,
            .enqueue = enqueue_,
            .polls = enqueue_ && !told_,
            .arrival = by_ ? by_->arrival : "",
            .alive = interval() * 2,
            .info = info_,
            .slots = spec_.slots};
  }

  Attempt granted(const AttemptGranted& grant) {
    if (grant.free_only) {
      if (by_ && !by_->arrival.empty()) withdraw();  // wakes the next one
      return Granted{{}, std::nullopt};
    }
    return LayoutLock::grant(grant.token, grant.slot);
  }

  /// When a waiter without news looks by itself; nullopt: at once, the key has gone.
  std::optional<TimePoint> next_look(Control& control) override {
    const TimePoint now = runtime_.clock.now();
    Duration pause = interval() - jitter(interval() / 10);
    bool told = told_ && !mute_;
    if (told && (by_->foreign || by_->place == 0)) {
      const auto value = watch_key(false, look_end(), &control);
      if (value && value->is_nil()) return std::nullopt;
      if (!value && by_->foreign) told = false;
    }
    if (!told) {
      pause_ = std::clamp(pause_ * 2, kFirstPollPause, kLongestPollPause);
      pause = std::min(pause, pause_ / 2 + jitter(pause_ / 2));
    }
    // Free, but a waiter before us may still come back to take it.
    if (!by_->remaining && !by_->foreign) pause = std::min<Duration>(pause, 1s);
    if (by_->remaining) {
      const Duration later = spec_.fair && by_->place > 0 ? interval() / 2 : Duration(0);
      const Duration turn = std::min(by_->place, 20) * Duration(25ms);
      pause = std::min(pause, *by_->remaining + 1ms + jitter(10ms) + turn + later);
    }
    return now + std::max<Duration>(pause, 1ms);
  }

  /// Whether a reader or the holder of a permit still has its record.
  std::optional<bool> is_still_listed(TimePoint until) {
    const NativeNames& names = layout_.names();
    const auto replies = deployment_->call(names.key, {{"HGET", names.holders, spec_.owner.text()}}, until, control_);
    if (!replies || replies->front().is_error()) return std::nullopt;
    if (replies->front().is_text()) revoked_ = revocation_of(replies->front().text);
    return replies->front().is_text();
  }

  /// Asks for news of changes of the key, and for its value; of the holder of an exclusive lock (`all_reads`) its
  /// record, too, which says who asks for the lock back. nullopt if the server cannot; without the right to read it the
  /// owner stays unknown.
  std::optional<Reply> watch_key(bool all_reads, TimePoint until, Control* control) {
    if (!wake_.is_open()) return std::nullopt;
    std::vector<Command> commands{wake_.tracking(all_reads)};
    if (!all_reads) commands.push_back({"CLIENT", "CACHING", "YES"});
    if (all_reads) commands.push_back({"HGET", layout_.names().holders, spec_.owner.text()});
    commands.push_back({"GET", layout_.names().key});
    auto replies = deployment_->call(layout_.names().key, commands, until, control);
    if (!replies || replies->front().is_error() || replies->back().is_error()) return std::nullopt;
    if (all_reads && (*replies)[1].is_text()) revoked_ = revocation_of((*replies)[1].text);
    return std::move(replies->back());
  }

  /// How often a waiter is heard of, and looks, at the least.
  Duration interval() const { return std::clamp<Duration>(spec_.ttl / 6, 500ms, 5s); }

  NativeLayout layout_;
  std::string info_;
  bool mute_ = false;              ///< no message comes, whoever listens
  std::optional<AttemptBusy> by_;  ///< the answer to the last attempt that was not granted
};

}  // namespace

Result<std::unique_ptr<LockDriver>> keep_native_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime) {
  TRY_ASSIGN(auto deployment, redis_deployment(url, runtime.clock, connect_timeout_of(spec.wait), Greet::kAlong));
  TRY_ASSIGN(auto names, native_names(spec.name));
  return std::unique_ptr<LockDriver>(std::make_unique<NativeLock>(std::move(deployment), std::move(names),
                                                                  url.redacted(), spec, redis_replicas(url), runtime));
}

}  // namespace dlock::redis
