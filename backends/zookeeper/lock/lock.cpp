// SPDX-License-Identifier: Apache-2.0
// A lock up to its grant.
#include "backends/zookeeper/lock/lock.h"

#include <algorithm>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/standing_leases.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/base/human_text.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstWatch = 200ms;   ///< a lock held for less is not worth watching
constexpr Duration kWithdrawBudget = 1s;  ///< to take back what may have been created
constexpr Duration kLookAgain = 1min;     ///< at what is waited for, whatever was missed
constexpr Duration kGrantTakes = 1s;      ///< from its lease to the grant: --at-least counts from that
constexpr Duration kGatePasses = 1s;      ///< whoever does not pass it by then is stopped
constexpr int kGoneTries = 5;
constexpr std::size_t kMostNamed = 3;  ///< waiters whose names a waiter is shown

}  // namespace

ZookeeperLock::ZookeeperLock(Ensemble ensemble, LockSpec spec, std::string directory,
                             std::vector<QueueDirectory> queues, const Runtime& runtime)
    : ensemble_(std::move(ensemble)),
      spec_(std::move(spec)),
      directory_(std::move(directory)),
      queues_(std::move(queues)),
      runtime_(runtime),
      acquisition_(spec_, runtime_, *this),
      clock_(ensemble_.root()) {}

/// For one request: what was answered before it is kept. A session outlives the silence of a server.
TimePoint ZookeeperLock::asked_by() {
  if (calls_) acquisition_.patience().outlives_silence_of(calls_->timeout());
  return acquisition_.patience().attempt_end(runtime_.clock.now());
}

/// Nothing is held yet: a session that no server takes back may be asked about, or left.
Result<void> ZookeeperLock::connect(Control& control) {
  const Duration timeout = timeout_to_ask();
  if (calls_ && calls_->state() != SessionState::kExpired) {
    return calls_->is_shut_out() ? ensemble_.ask_anew(*calls_, timeout, asked_by(), &control) : Result<void>();
  }
  contenders_.clear();  // they refer to the old session
  passed_ = 0;
  watched_by_ = 0;
  calls_.reset();
  TRY_ASSIGN(calls_, ensemble_.connect(timeout, asked_by(), &control));
  const std::string data = encode(record_of(spec_));
  contenders_.reserve(queues_.size());
  for (const QueueDirectory& queue : queues_) contenders_.emplace_back(*calls_, queue, data);
  const int servers = ensemble_.server_count();
  if (acquisition_.patience().is_once())
    calls_->give_up_after(servers + (servers % 2 == 0 ? 1 : 0));  // see server_list()
  return {};
}

std::optional<std::variant<Granted, Refused>> ZookeeperLock::acquire(Control& control) {
  return acquisition_.run(control);
}

Acquirer::Attempt ZookeeperLock::attempt(TimePoint until, Control& control) {
  auto tried = try_once(control);
  while (!tried && may_begin_anew(tried.error(), until) && !control.stop_requested()) {
    acquisition_.trace("tried again: " + tried.error().message);
    acquisition_.pause(runtime_.clock.now() + kAskAgainPause, control);
    tried = try_once(control);
  }
  while (tried && *tried == Tried::kBusy && is_next_soon(until, control)) tried = try_once(control);
  if (!tried && tried.error().code == ErrorCode::kLost) return ends_every_session(ensemble_.store());
  if (!tried) return tried.error();
  if (*tried == Tried::kBusy) return Busy{};
  if (*tried == Tried::kFree) return Granted{};
  auto grant = granted(control);
  if (grant) release_gates();
  if (grant) return std::move(*grant);
  passed_ = 0;
  return grant.error();
}

/// A single try that finds the gate of a semaphore busy, and a place behind it: those before us only pass.
bool ZookeeperLock::is_next_soon(TimePoint until, Control& control) {
  const TimePoint limit = std::min(until, runtime_.clock.now() + kGatePasses);
  const bool at_gate = spec_.take && passed_ + 1 < contenders_.size() && turn_.kind == QueueTurn::Kind::kWaits;
  if (!at_gate || acquisition_.patience().queues()) return false;
  const QueueDirectory& last = queues_.back();
  const auto found = calls_->call_all({ask_list(last.directory), ask_list(last.rivals)}, limit, &control);
  if (!found.front() || !found.back() || first_contender(found.back()->children)) return false;
  if (found.front()->children.size() >= static_cast<std::size_t>(last.permits)) return false;
  const auto watched = contenders_[passed_].watch(turn_, limit, &control);
  if (!watched || !*watched) return static_cast<bool>(watched);
  return wait_in_session([this] { return contenders_[passed_].is_woken(turn_); }, limit, control);
}

/// A session that has expired is replaced: its place in the queue is lost anyway. One attempt asks each server, and
/// once more: a machine that is slow looks like a server that is silent.
bool ZookeeperLock::may_begin_anew(const Error& error, TimePoint until) {
  const TimePoint now = runtime_.clock.now();
  const Patience& patience = acquisition_.patience();
  if (patience.is_over(now)) return false;
  if (error.code == ErrorCode::kLost) return now < until;
  if (error.code != ErrorCode::kUnavailable || !patience.is_once() || now >= until) return false;
  return !(calls_ && calls_->refused_by_all()) && ++unanswered_ <= ensemble_.server_count();
}

/// Through the queues that are not passed yet.
Result<ZookeeperLock::Tried> ZookeeperLock::try_once(Control& control) {
  TRY(connect(control));
  if (!spec_.take) return see_whether_free(control);
  waited_for_.clear();
  for (bool again = false;; again = true) {
    auto tried = pass_queues(control);
    if (!tried) passed_ = 0;
    if (tried || tried.error().code != ErrorCode::kUnsupported) return tried;
    const auto key = calls_->call(ask_stat(directory_), asked_by(), &control);
    if (key && key->code == Code::kNoNode && !again) continue;  // what has refused us has gone since
    if (!key || key->stat.ephemeral_owner == 0) return tried;
    waited_for_ = directory_;
    waited_version_ = key->stat.version;
    return Tried::kBusy;
  }
}

Result<ZookeeperLock::Tried> ZookeeperLock::pass_queues(Control& control) {
  for (; passed_ < contenders_.size(); ++passed_) {
    TRY_ASSIGN(auto turn, pass(contenders_[passed_], control));
    if (turn.kind == QueueTurn::Kind::kHolds) continue;
    turn_ = std::move(turn);
    if (acquisition_.patience().queues()) acquisition_.trace("queued on " + calls_->key().server);
    return Tried::kBusy;
  }
  const ContenderStore& last = contenders_.back();
  if (spec_.mode == Mode::kPermits) {
    TRY_ASSIGN(auto taken, take_slot(*calls_, queues_.back().directory, last.path(), spec_, asked_by(), &control));
    slot_ = std::move(taken);
  }
  held_ = last.path();
  sent_ = last.sent();
  previously_sent_ = last.previously_sent();
  return Tried::kHolds;
}

Error ZookeeperLock::disagreement() const {
  return {ErrorCode::kConflict,
          "the callers of " + spec_.name.text() + " do not agree on how many may hold it together",
          "use the same --permits (or --shared) everywhere; see: dlock inspect " + spec_.name.typed()};
}

Result<QueueTurn> ZookeeperLock::pass(ContenderStore& contender, Control& control) {
  for (int gone = 0; gone <= kGoneTries; ++gone) {
    TRY_ASSIGN(auto turn, contender.enter(asked_by(), &control));
    acquisition_.patience().heard();
    const auto removed = remove_over(contender, turn, control);
    if (!removed && turn.kind != QueueTurn::Kind::kHolds) return removed.error();
    if (removed && *removed && turn.kind != QueueTurn::Kind::kHolds) continue;
    if (turn.kind == QueueTurn::Kind::kDisagrees) return disagreement();
    if (turn.kind != QueueTurn::Kind::kGone) return turn;
    // Our place in the queue was deleted. A server that was cut off may not know it yet.
    if (calls_->was_taken_up()) {
      calls_->end();
      return Error{ErrorCode::kLost, "our node in " + directory_ + " is gone"};
    }
    contender.forget();
  }
  return Error{ErrorCode::kUnavailable, "our node in " + directory_ + " is deleted again and again"};
}

/// Whether one of them was. The others are looked at again when they are over.
Result<bool> ZookeeperLock::remove_over(const ContenderStore& contender, const QueueTurn& turn, Control& control) {
  lease_over_.reset();
  bool removed = false;
  for (const std::string& lease : turn.leases) {
    TRY_ASSIGN(const auto again, remove_if_over(*calls_, contender.path_of(lease), clock_, asked_by(), &control));
    lease_over_ = earlier(lease_over_, again);
    removed = removed || !again;
  }
  return removed;
}

/// It is free: the directory is empty, since a contender that leaves is followed by the next.
Result<ZookeeperLock::Tried> ZookeeperLock::see_whether_free(Control& control) {
  TRY_ASSIGN(const auto present,
             read_present(*calls_, ensemble_.recipe(), directory_, 0, clock_, asked_by(), &control));
  acquisition_.patience().heard();
  const bool is_held = std::any_of(present.begin(), present.end(), [](const ParticipantNode& p) { return p.holds; });
  if (!is_held) return Tried::kFree;
  waited_for_ = present.back().path;
  waited_version_ = present.back().is_read ? present.back().stat.version : 0;
  lease_over_ = first_end(present, runtime_.clock.now(), clock_.now(*calls_, asked_by(), &control));
  return Tried::kBusy;
}

/// By a watch on what is waited for; it is time to look after a ttl, whatever was missed. Who has no connection at the
/// end does not know whether it is held.
bool ZookeeperLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    withdraw();
    const auto leave_what_is_left = [this] {
      if (calls_->state() == SessionState::kConnected && is_in_queue()) withdraw();
      return !calls_;
    };
    if (calls_) wait_in_session(leave_what_is_left, until, control);
    if (!calls_) acquisition_.pause(until, control);
    return !acquisition_.patience().is_over(runtime_.clock.now());
  }
  const auto watched = watch(control);
  if (!watched || !*watched) return true;
  const auto look_at = earlier(lease_over_, runtime_.clock.now() + std::min<Duration>(spec_.ttl, kLookAgain));
  const bool woken = wait_in_session([this] { return is_woken(); }, earlier(look_at, until), control);
  return woken || calls_->out_since() || !acquisition_.patience().is_over(runtime_.clock.now());
}

/// False: it has happened already.
Result<bool> ZookeeperLock::watch(Control& control) {
  if (waited_for_.empty()) return contenders_[passed_].watch(turn_, asked_by(), &control);
  TRY_ASSIGN(const auto seen, calls_->call(ask_stat(waited_for_, true), asked_by(), &control));
  return seen.code == Code::kOk && seen.stat.version == waited_version_;
}

/// An attempt is worth it: because of what has happened, or to find out what the matter is with the session.
bool ZookeeperLock::is_woken() {
  if (calls_->state() == SessionState::kExpired) {
    acquisition_.trace("tried again: the session on " + calls_->store() + " has expired while waiting");
    return true;
  }
  const auto out = calls_->out_since();
  if (out) acquisition_.patience().unreached(*out);
  else acquisition_.patience().reached();
  if (out && acquisition_.patience().is_long_outage(runtime_.clock.now())) return true;
  return waited_for_.empty() ? contenders_[passed_].is_woken(turn_) : calls_->take_fired(waited_for_);
}

/// The session's events must be read during it.
bool ZookeeperLock::wait_in_session(const std::function<bool()>& is_ready, std::optional<TimePoint> until,
                                    Control& control) {
  const auto receive = [&] {
    calls_->receive();
    return is_ready();
  };
  const auto sleep = [&](std::optional<TimePoint> end) {
    const auto out = calls_->out_since();
    const Duration limit = acquisition_.patience().outage_limit();
    calls_->wait(earlier(end, out ? std::optional(*out + limit) : std::nullopt), &control);
  };
  return acquisition_.wait_on({receive, sleep}, until, control);
}

Result<LockState> ZookeeperLock::describe(Control& control) {
  if (!calls_) return Error{ErrorCode::kUnavailable, "not connected"};
  const TimePoint until = runtime_.clock.now() + kLookBudget;
  TRY_ASSIGN(auto present, read_present(*calls_, ensemble_.recipe(), directory_, kMostNamed, clock_, until, &control));
  const std::string own = spec_.take && passed_ < contenders_.size() ? contenders_[passed_].path() : "";
  LockState state = state_of(spec_.name, ensemble_.store(), present, own);
  clock_.move_to_ours(state, *calls_, until, &control);
  return state;
}

Result<Granted> ZookeeperLock::granted(Control& control) {
  const Duration lease = lease_within(calls_->timeout(), spec_.ttl, spec_.lock_delay);
  if (lease < std::min<Duration>(spec_.ttl / 4, 1s)) {
    return Error{ErrorCode::kUnsupported,
                 ensemble_.store() + " allows sessions of " + human_duration(calls_->timeout()) +
                     ", which leaves no lease beside a lock-delay of " + human_duration(spec_.lock_delay),
                 "choose a shorter --lock-delay, or raise maxSessionTimeout on the servers"};
  }
  if (runtime_.clock.now() + least_to_start(lease) >= believed()) {  // it took its time to get here
    TRY_ASSIGN(const auto turn, contenders_.back().judge_again(asked_by(), &control));
    if (turn.kind != QueueTurn::Kind::kHolds) {
      return Error{ErrorCode::kLost, "the lock was deleted on " + ensemble_.store() + " while it was granted"};
    }
    sent_ = contenders_.back().sent();
    previously_sent_ = contenders_.back().previously_sent();
  }
  if (spec_.at_least > lease) {  // longer than the session is sure to last without us
    const Duration lasts = spec_.at_least + kGrantTakes;
    TRY(keep(ContenderStore::Kept::kAsLease, lease_of(lasts), asked_by()));
    if (runtime_.clock.now() > kept_since_ + kGrantTakes) {
      TRY(keep(ContenderStore::Kept::kAsLease, lease_of(lasts), asked_by()));
    }
  }
  calls_->forget_fired();
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  HeldLock lock{spec_.name, spec_.owner, contenders_.back().token(), ensemble_.store(), false, warning()};
  lock.slot = slot_;
  return Granted{{std::move(lock)}, believed(), lease};
}

/// Contenders in the directory that cannot be seen by us, or cannot see us.
std::string ZookeeperLock::warning() const {
  std::string others;
  for (const std::string& name : contenders_.back().strangers()) {
    others.append(others.empty() ? "a " : " and a ").append(family_text(parse_node_name(name)->family));
  }
  if (others.empty()) return "";
  return directory_ + " is used by " + others + ", which recipe=" + recipe_name(ensemble_.recipe()) +
         " does not exclude in " + mode_name(spec_.mode) + " mode: both may hold the lock at once";
}

bool ZookeeperLock::is_in_queue() const {
  return std::any_of(contenders_.begin(), contenders_.end(),
                     [](const ContenderStore& one) { return one.may_be_there(); });
}

/// A node that may still be there is not forgotten: in a session that goes on it would block the queue for all.
void ZookeeperLock::withdraw() {
  passed_ = 0;
  if (!calls_ || calls_->timeout() == Duration(0)) return;  // no server was reached
  const TimePoint until = runtime_.clock.now() + kWithdrawBudget;
  bool may_not = false;
  for (auto contender = contenders_.rbegin(); contender != contenders_.rend(); ++contender) {
    const auto removed = contender->remove(until);
    if (removed || removed.error().code == ErrorCode::kLost) contender->forget();
    else may_not = may_not || removed.error().code != ErrorCode::kUnavailable;
  }
  if (may_not) calls_->end();
}

}  // namespace dlock::zookeeper
