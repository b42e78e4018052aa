// SPDX-License-Identifier: Apache-2.0
// What happens to a lock up to its grant.
#include "backends/zookeeper/lock/lock.h"

#include <algorithm>

#include "backends/zookeeper/lock/session_lease.h"
#include "lib/base/human_text.h"
#include "lib/lock/lease.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;
constexpr Duration kFirstWatch = 200ms;  ///< a lock held for less is not worth watching
constexpr Duration kGiveUpBudget = 1s;   ///< to take back what may have been created
constexpr Duration kRetryPause = 40ms;
constexpr Duration kLeastPatience = 500ms;  ///< near the end of the wait
constexpr Duration kRetryInterval = 1s;     ///< of counted tries, when nobody chose one
constexpr int kGoneTries = 5;

}  // namespace

ZookeeperLock::ZookeeperLock(Ensemble ensemble, LockSpec spec, std::string directory, std::vector<Stage> stages,
                             const Runtime& runtime)
    : ensemble_(std::move(ensemble)),
      spec_(std::move(spec)),
      directory_(std::move(directory)),
      stages_(std::move(stages)),
      runtime_(runtime) {}

Duration ZookeeperLock::patience() const {
  const Duration chosen = spec_.wait.connect_timeout > 0s ? spec_.wait.connect_timeout : kConnectTimeout;
  return calls_ ? std::max(chosen, calls_->timeout()) : chosen;
}

/// For one request. `reach_by_` while nobody has been reached.
TimePoint ZookeeperLock::asked_by() const {
  const TimePoint now = runtime_.clock.now();
  const TimePoint by = std::max(reach_by_, now + kRetryPause);
  return queued_ && spec_.wait.until ? std::min(by, std::max(*spec_.wait.until, now + kLeastPatience)) : by;
}

/// One line a step, with -v; the same step once.
void ZookeeperLock::trace(std::string step) {
  if (runtime_.log.style().verbosity == 0 || step == traced_) return;
  runtime_.log.verbose(spec_.name.text() + ": " + step);
  traced_ = std::move(step);
}

bool ZookeeperLock::may_wait() const { return !spec_.wait.once && spec_.wait.tries == 0; }

Result<void> ZookeeperLock::connect(Control& control) {
  if (calls_ && calls_->state() != SessionState::kExpired) return {};
  contenders_.clear();  // they refer to the old session
  entry_.clear();
  calls_.reset();
  auto calls = ensemble_.connect(timeout_to_ask(spec_.ttl, spec_.lock_delay), nullptr, asked_by(), &control);
  if (!calls) return calls.error();
  calls_ = std::move(*calls);
  const int servers = ensemble_.server_count();
  if (spec_.wait.once) calls_->give_up_after(servers + (servers % 2 == 0 ? 1 : 0));  // see server_list()
  began_ = runtime_.clock.now();
  const std::string data = encode(record_of(spec_));
  contenders_.reserve(stages_.size());
  for (const Stage& stage : stages_) contenders_.emplace_back(*calls_, stage, data);
  return {};
}

/// Once through all stages; waits between them as far as the spec wants.
Result<ZookeeperLock::Outcome> ZookeeperLock::attempt(Control& control) {
  if (const auto connected = connect(control); !connected) return connected.error();
  if (!spec_.take) return wait_until_free(control);
  if (spec_.ancestor) {
    const auto joined = join_ancestor(control);
    if (!joined) return joined.error();
    if (*joined) return Outcome::kHolds;
  }
  return pass_stages(control);
}

Result<ZookeeperLock::Outcome> ZookeeperLock::pass_stages(Control& control) {
  for (ContenderStore& contender : contenders_) {
    const auto outcome = pass(contender, control);
    if (!outcome || *outcome != Outcome::kHolds) return outcome;
  }
  leave_gates();
  const ContenderStore& last = contenders_.back();
  held_ = last.paths();
  sent_ = last.sent();
  previously_sent_ = last.previously_sent();
  return Outcome::kHolds;
}

Result<ZookeeperLock::Outcome> ZookeeperLock::pass(ContenderStore& contender, Control& control) {
  int gone = 0;
  auto verdict = contender.enter(asked_by(), &control);
  while (true) {
    if (!verdict) return verdict.error();
    reach_by_ = runtime_.clock.now() + patience();
    if (verdict->kind == Verdict::Kind::kHolds) return Outcome::kHolds;
    if (verdict->kind == Verdict::Kind::kDisagrees) {
      return Error{ErrorCode::kConflict,
                   "the callers of " + spec_.name.text() + " do not agree on how many may hold it together",
                   "use the same --permits (or --shared) everywhere; see: dlock inspect " + spec_.name.text()};
    }
    if (verdict->kind == Verdict::Kind::kGone) {  // somebody has deleted our place in the queue
      if (++gone > kGoneTries) {
        return Error{ErrorCode::kUnavailable, "our nodes in " + directory_ + " are deleted again and again"};
      }
      contender.forget();
      verdict = contender.enter(asked_by(), &control);
      continue;
    }
    if (!may_wait()) return Outcome::kBusy;
    queued_ = true;
    trace("queued on " + calls_->key().server);
    const auto set = contender.watch(*verdict, asked_by(), &control);
    if (!set) return set.error();
    if (*set) {
      const auto woken = wait(control, [&] { return contender.is_woken(*verdict); });
      if (!woken) return woken.error();
      if (*woken == Woken::kStopped) return Outcome::kStopped;
      if (*woken == Woken::kTimeOver) return Outcome::kBusy;
    }
    verdict = contender.look(asked_by(), &control);
  }
}

/// Nobody holds it: nobody is there at all, since whoever leaves is followed by the next.
Result<ZookeeperLock::Outcome> ZookeeperLock::wait_until_free(Control& control) {
  while (true) {
    const auto present = read_present(*calls_, ensemble_.recipe(), directory_, asked_by(), &control);
    if (!present) return present.error();
    reach_by_ = runtime_.clock.now() + patience();
    const bool is_held = std::any_of(present->begin(), present->end(), [](const Present& p) { return p.holds; });
    if (!is_held) return Outcome::kFree;
    if (!may_wait()) return Outcome::kBusy;
    queued_ = true;
    const std::string& last = present->back().paths.front();
    const auto seen = calls_->call({.kind = Request::Kind::kExists, .path = last, .watch = true}, asked_by(), &control);
    if (!seen) return seen.error();
    if (seen->code != Code::kOk) continue;
    const auto woken = wait(control, [&] { return calls_->take_fired(last); });
    if (!woken) return woken.error();
    if (*woken == Woken::kStopped) return Outcome::kStopped;
    if (*woken == Woken::kTimeOver) return Outcome::kBusy;
  }
}

/// False: the claim is not confirmed. Unsupported: it would wait for itself.
Result<bool> ZookeeperLock::join_ancestor(Control& control) {
  while (true) {
    const auto present = read_present(*calls_, ensemble_.recipe(), directory_, asked_by(), &control);
    if (!present) return present.error();
    const auto outer = std::find_if(present->begin(), present->end(), [this](const Present& one) {
      return one.holds && one.ours && one.party.owner == spec_.ancestor->owner.text() &&
             one.party.token == spec_.ancestor->token;
    });
    if (outer == present->end()) return false;
    if (outer->party.mode != Mode::kExclusive && outer->party.mode != spec_.mode) {
      return Error{ErrorCode::kUnsupported,
                   spec_.name.text() + " is held " + mode_name(outer->party.mode) +
                       " by the command around this one, " + "which would wait for itself",
                   "take it in the mode that is needed inside at once, outside"};
    }
    auto entered = enter(*outer, control);
    if (!entered || *entered) return entered;
    if (control.stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
  }
}

/// False: it has changed since it was looked at.
Result<bool> ZookeeperLock::enter(const Present& outer, Control& control) {
  joined_ = outer;
  held_ = outer.paths;
  if (entry_.empty()) entry_ = new_entry(hold());
  const TimePoint sent = runtime_.clock.now();
  auto entered = enter_hold(*calls_, hold(), outer.data, outer.stat.version, entry_, encode(record_of(spec_)),
                            asked_by(), &control);
  if (!entered || !*entered) {
    joined_.reset();
    return entered;
  }
  sent_ = previously_sent_ = sent;
  return true;
}

/// Until is_woken(), for one ttl at the longest: then it is time to look, whatever was missed.
template <typename IsWoken>
Result<ZookeeperLock::Woken> ZookeeperLock::wait(Control& control, IsWoken is_woken) {
  const TimePoint read_present = runtime_.clock.now() + spec_.ttl;
  while (true) {
    calls_->receive();
    if (control.stop_requested()) return Woken::kStopped;
    answer_who(control);
    if (calls_->state() == SessionState::kExpired) {
      return Error{ErrorCode::kLost, "the session on " + calls_->store() + " has expired while waiting"};
    }
    if (is_woken()) return Woken::kLook;
    const TimePoint now = runtime_.clock.now();
    if (spec_.wait.until && now >= *spec_.wait.until) return Woken::kTimeOver;
    std::optional<TimePoint> until = read_present;
    if (const auto out = calls_->out_since()) {
      if (now >= *out + patience()) return calls_->unreachable();
      until = *out + patience();
    } else if (now >= read_present) {
      return Woken::kLook;
    }
    calls_->wait(earlier(until, spec_.wait.until), &control);
  }
}

bool ZookeeperLock::pause(Duration length, Control& control) {
  TimePoint until = runtime_.clock.now() + length;
  if (spec_.wait.until) until = std::min(until, *spec_.wait.until);
  while (!control.stop_requested() && runtime_.clock.now() < until) {
    if (calls_) {
      calls_->receive();
      answer_who(control);
      calls_->wait(until, &control);
    } else {
      std::vector<pollfd> fds;
      control.add_interest(fds);
      runtime_.clock.wait(fds, until);
    }
  }
  return !control.stop_requested();
}

void ZookeeperLock::answer_who(Control& control) {
  if (!control.take_who() || !calls_) return;
  const TimePoint until = runtime_.clock.now() + kLookBudget;
  auto present = read_present(*calls_, ensemble_.recipe(), directory_, until, &control);
  if (!present) return;
  (void)count_entries(*calls_, entries_directory(ensemble_.root(), spec_.name), *present, until, &control);
  control.tell(Waiting{state_of(spec_.name, ensemble_.store(), *present)});
}

std::optional<std::variant<Granted, Refused>> ZookeeperLock::acquire(Control& control) {
  reach_by_ = runtime_.clock.now() + patience();
  while (true) {
    auto outcome = attempt(control);
    if (control.stop_requested() || (outcome && *outcome == Outcome::kStopped)) break;
    if (!outcome) ++unreached_;
    if (!outcome && worth_another_try(outcome.error())) {
      trace("tried again: " + outcome.error().message);
      if (!pause(kRetryPause, control)) break;
      continue;
    }
    if (outcome && *outcome == Outcome::kBusy && spec_.wait.tries > ++attempts_) {
      leave_queue();
      if (!pause(spec_.wait.retry_interval > 0s ? spec_.wait.retry_interval : kRetryInterval, control)) break;
      if (!spec_.wait.until || runtime_.clock.now() < *spec_.wait.until) continue;
    }
    if (auto answer = answer_of(std::move(outcome), control)) return answer;
    break;
  }
  leave_queue();
  return std::nullopt;
}

/// A session that has expired is replaced: its place in the queue is lost anyway. The connection's time-out is for the
/// first contact: who waits already waits as long as it was told to.
bool ZookeeperLock::worth_another_try(const Error& error) {
  const TimePoint now = runtime_.clock.now();
  if (spec_.wait.until && now >= *spec_.wait.until) return false;
  if (error.code == ErrorCode::kLost) return true;
  if (error.code != ErrorCode::kUnavailable) return false;
  if (queued_ && !spec_.wait.has_fallback && now >= reach_by_) reach_by_ = now + patience();
  if (now >= reach_by_) return false;
  if (!spec_.wait.once) return true;
  const bool reached = calls_ && calls_->timeout() > Duration(0);
  // One attempt asks each server.
  return !reached && !(calls_ && calls_->refused_by_all()) && unreached_ < ensemble_.server_count();
}

/// nullopt: stopped.
std::optional<std::variant<Granted, Refused>> ZookeeperLock::answer_of(Result<Outcome> outcome, Control& control) {
  if (!outcome) return refuse(outcome.error());
  if (*outcome == Outcome::kFree) return Granted{{}, std::nullopt};
  if (*outcome == Outcome::kBusy) return busy(control);
  auto grant = granted(control);
  if (!grant) return refuse(grant.error());
  return std::move(*grant);
}

Result<Granted> ZookeeperLock::granted(Control& control) {
  const Duration lease = lease_within(calls_->timeout(), spec_.ttl, spec_.lock_delay);
  if (lease < std::min<Duration>(spec_.ttl / 4, 1s)) {
    return Error{ErrorCode::kUnsupported,
                 ensemble_.store() + " allows sessions of " + human_duration(calls_->timeout()) +
                     ", which leaves no lease beside a lock-delay of " + human_duration(spec_.lock_delay),
                 "choose a shorter --lock-delay, or raise maxSessionTimeout on the servers"};
  }
  if (runtime_.clock.now() + least_to_start(spec_.ttl) >= believed() && !joined_) {  // it took its time to get here
    const auto verdict = contenders_.back().look(asked_by(), &control);
    if (!verdict) return verdict.error();
    if (verdict->kind != Verdict::Kind::kHolds) {
      return Error{ErrorCode::kLost, "the lock was deleted on " + ensemble_.store() + " while it was granted"};
    }
    sent_ = contenders_.back().sent();
    previously_sent_ = contenders_.back().previously_sent();
  }
  calls_->forget_fired();
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  const Owner& owner = joined_ ? spec_.ancestor->owner : spec_.owner;
  const FencingToken token = joined_ ? joined_->party.token : contenders_.back().token();
  return Granted{{HeldLock{spec_.name, owner, token, ensemble_.store(), joined_.has_value(), warning()}}, believed()};
}

/// What stands in the directory beside us and cannot be seen by us, or cannot see us.
std::string ZookeeperLock::warning() const {
  if (joined_) return "";
  std::string others;
  for (const std::string& name : contenders_.back().strangers()) {
    others.append(others.empty() ? "a " : " and a ").append(family_text(parse_node_name(name)->family));
  }
  if (others.empty()) return "";
  return directory_ + " is used by " + others + ", which recipe=" + recipe_name(ensemble_.recipe()) +
         " does not exclude in " + mode_name(spec_.mode) + " mode: both may hold the lock at once";
}

Refused ZookeeperLock::busy(Control& control) {
  std::optional<LockState> state;
  const auto present =
      read_present(*calls_, ensemble_.recipe(), directory_, runtime_.clock.now() + kLookBudget, &control);
  if (present) {
    state = state_of(spec_.name, ensemble_.store(), *present);
    std::erase_if(state->waiters, [&](const Participant& waiter) { return waiter.owner == spec_.owner.text(); });
  }
  leave_queue();
  return {{ErrorCode::kBusy, spec_.name.text() + " is held by somebody else", ""}, std::move(state)};
}

Refused ZookeeperLock::refuse(Error error) {
  leave_queue();
  return {std::move(error), std::nullopt};
}

/// What is not confirmed to be gone goes with the session.
void ZookeeperLock::leave_queue() {
  if (!calls_ || calls_->timeout() == Duration(0)) return;  // nobody was reached
  const TimePoint until = runtime_.clock.now() + kGiveUpBudget;
  for (auto contender = contenders_.rbegin(); contender != contenders_.rend(); ++contender) {
    (void)contender->remove(until);
    contender->forget();
  }
}

}  // namespace dlock::zookeeper
