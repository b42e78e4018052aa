// SPDX-License-Identifier: Apache-2.0
// A lock from its grant to its end.
#include <algorithm>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/lock.h"
#include "backends/zookeeper/lock/session_takeover.h"
#include "lib/base/human_text.h"
#include "lib/lock/who_text.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWatchAgain = 1s;  ///< after a watch that could not be set
constexpr Duration kTouchPause = 100ms;
constexpr Duration kOutage = 300ms;  ///< without a connection, after which the session is asked about anew
constexpr Duration kSyncBudget = 1s;

/// nullopt: the data of our node ask for nothing.
std::optional<RevocationRequested> revocation_in(const std::optional<HolderRecord>& told, const std::string& data) {
  if (told && !told->revoked.empty()) return RevocationRequested{{}, told->revoked};
  if (asks_to_release(data)) return RevocationRequested{"another client asked for it (" + data + ")"};
  return std::nullopt;
}

}  // namespace

TimePoint ZookeeperLock::believed() const {
  return believed_until(sent_, previously_sent_, calls_->timeout(), spec_.ttl, spec_.lock_delay);
}

ZookeeperLock::~ZookeeperLock() {
  if (!calls_ || shared_) return;
  if (keep_session_) outlast_first_touches();
  if (keep_session_) calls_->session().abandon();
  else calls_->session().close();
}

/// After the session was given another timeout than it was made for.
void ZookeeperLock::outlast_first_touches() {
  const TimePoint until = began_ + std::min<Duration>(made_for_ / 4, kLongestHalfTick);
  for (bool last = false; !last;) {
    last = runtime_.clock.now() >= until;
    (void)calls_->call(ask_sync(held_), runtime_.clock.now() + kSyncBudget, nullptr);
    const TimePoint next = runtime_.clock.now() + kTouchPause;
    while (!last && runtime_.clock.now() < next) calls_->wait(next, nullptr), calls_->receive();
  }
}

/// The gate of a semaphore is for whoever comes next; its removal must not be lost while we hold.
void ZookeeperLock::release_gates() {
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) contenders_[i].remove_meanwhile();
}

/// A server announces a watch before it answers a request that came after the change: no question is needed whether
/// they are there. Watches outlive their connection, but a library has to see to that.
bool ZookeeperLock::is_watched() const {
  return watched_by_ > 0 && watched_by_ == calls_->connections() && watching_.empty() && !has_news();
}

/// Servers announce nothing of a node that may not be read any more: once in a ttl it is asked for all the same.
bool ZookeeperLock::is_to_be_read(TimePoint now) const {
  return !is_watched() || now >= looked_at_ + std::min(spec_.ttl, calls_->timeout());
}

/// Events that came during it are read with the answers.
Renewal ZookeeperLock::renew(Control& control, TimePoint until) {
  release_gates();
  const TimePoint sent = runtime_.clock.now();
  std::vector<std::uint64_t> tickets{calls_->send(ask_sync(held_))};
  const bool asked = is_to_be_read(sent);
  if (asked) tickets.push_back(calls_->send(ask_stat(held_)));
  std::optional<Error> failed;
  bool gone = false;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    if (failed) {
      calls_->forget(tickets[i]);
      continue;
    }
    const auto answer = calls_->answer(tickets[i], until, &control);
    if (!answer) failed = answer.error();
    else if (i > 0) gone = gone || !is_ours(*answer);
  }
  if (failed && failed->code == ErrorCode::kLost) return RenewalLost{failed->message};
  if (failed && runtime_.clock.now() >= until) calls_->session().reconnect();  // another server may be well
  if (failed) return RenewalUnknown{failed->message};
  if (gone) return lost_by_deletion();
  if (!asked && !is_watched()) return renew(control, until);  // which asks for it
  if (asked) looked_at_ = sent;
  previously_sent_ = sent_;
  sent_ = sent;
  return RenewalRenewed{believed()};
}

void ZookeeperLock::add_interest(std::vector<pollfd>& fds) const {
  if (calls_) calls_->add_interest(fds);
}

/// For held(): a renewal takes in the session's events, and leaves the decision to it.
bool ZookeeperLock::has_news() const {
  if (!calls_) return false;
  return calls_->has_fired(held_) || (!watching_.empty() && calls_->has_answer(watching_.back()));
}

std::optional<TimePoint> ZookeeperLock::wake_at() const {
  if (has_news()) return TimePoint();
  return calls_ ? earlier(earlier(watch_at_, asks_anew_at()), calls_->wake_at()) : watch_at_;
}

/// Servers that have lost their data close each connection of a session that has seen them, and never say that it has
/// ended: one that has seen nothing is notified. Each renewal in it reads our nodes after a sync.
std::optional<TimePoint> ZookeeperLock::asks_anew_at() const {
  const auto out = calls_ && !shared_ ? calls_->out_since() : std::nullopt;
  return out && out != asked_anew_ ? std::optional(*out + kOutage) : std::nullopt;
}

/// Reads our nodes with a watch once the lock has been held for a moment, and after each change of them.
Renewal ZookeeperLock::held(TimePoint now) {
  calls_->receive();
  if (calls_->state() == SessionState::kExpired) {
    return RenewalLost{"the session on " + ensemble_.store() + " has expired"};
  }
  if (const auto at = asks_anew_at(); at && now >= *at) {
    asked_anew_ = calls_->out_since();
    (void)ensemble_.ask_anew(*calls_, calls_->timeout(), now + kOutage, nullptr);
  }
  release_gates();
  const bool changed = calls_->take_fired(held_);
  const bool due = watch_at_ && now >= *watch_at_;
  if (!changed && !due) return watching_.empty() ? Renewal(RenewalHeld{}) : judge_watched();
  watch_at_.reset();
  watched_by_ = calls_->connections();
  looked_at_ = now;
  // In front of those that are under way, which may bring who frees the lock.
  watching_.insert(watching_.begin(), calls_->send(ask_data(held_, true)));
  return RenewalHeld{};
}

/// Under recipe=simple the next holder's node has the same name.
bool ZookeeperLock::is_ours(const Answer& node) const {
  const auto token = contenders_.back().token();
  return node.code == Code::kOk && static_cast<std::uint64_t>(node.stat.czxid) == token.value();
}

RenewalLost ZookeeperLock::lost_by_deletion() {
  for (const std::uint64_t ticket : std::exchange(watching_, {})) {
    if (!calls_->has_answer(ticket)) {
      calls_->forget(ticket);
      continue;
    }
    const auto answer = calls_->answer(ticket, TimePoint(), nullptr);
    const auto told = answer ? decode_record(answer->data) : std::nullopt;
    if (told && !told->freed_by.empty()) freed_by_ = told->freed_by;
  }
  return {freed_by_.empty() ? "it was deleted on " + ensemble_.store() : forced_by(freed_by_)};
}

Renewal ZookeeperLock::judge_watched() {
  while (!watching_.empty() && calls_->has_answer(watching_.back())) {
    const auto answer = calls_->answer(watching_.back(), TimePoint(), nullptr);
    watching_.pop_back();
    if (!answer) {
      watched_by_ = 0;
      watch_at_ = runtime_.clock.now() + kWatchAgain;
    } else if (!is_ours(*answer)) {
      return lost_by_deletion();
    } else if (const auto told = decode_record(answer->data); told && !told->freed_by.empty()) {
      hear(*told);
    } else if (const auto asked = revocation_in(told, answer->data)) {
      return *asked;
    }
  }
  return RenewalHeld{};
}

/// The lock is ours until the node goes: what keeps its place goes with it. The operator who frees it waits for our
/// word.
void ZookeeperLock::hear(HolderRecord told) {
  if (std::exchange(freed_by_, told.freed_by) == told.freed_by) return;
  told.heard = true;
  calls_->forget(calls_->send(ask_change({set_node(held_, encode(told))})));
}

/// The next holder's node may have taken the place of ours, and a deletion cannot distinguish them: the end of our
/// session can.
Result<void> ZookeeperLock::end_one_node(TimePoint until) {
  if (const auto ours = check_nodes(*calls_, {held_}, until); !ours) return ours;
  return end_session(ensemble_, *calls_, until);
}

/// Our node goes with the session where we have no right to delete it.
Result<void> ZookeeperLock::remove_node(TimePoint until) {
  auto removed = contenders_.back().remove(until);
  if (removed || removed.error().code != ErrorCode::kDenied || shared_) return removed;
  calls_->end();
  return {};
}

Result<void> ZookeeperLock::release(TimePoint until) {
  if (!spec_.take) return {};
  if (std::exchange(keep_session_, false)) {
    if (const auto files = LeaseFiles::open(false)) files->remove(spec_.owner);
  }
  if (!calls_) {  // leave() has failed
    if (auto again = take_session_again(kLastTimeout, until); !again) return again;
  }
  const auto released = is_one_node() ? end_one_node(until) : remove_node(until);
  if (calls_->state() == SessionState::kExpired) return released;  // and with it all that was ours
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) (void)contenders_[i].remove(until);  // long gone, as a rule
  if (shared_ && !released && released.error().code != ErrorCode::kLost) shared_->close();
  return released;
}

/// The session lives on without us, so that it can be taken over.
void ZookeeperLock::detach_session() {
  left_ = {calls_->key(), contenders_.back().token()};
  made_for_ = calls_->timeout();
  calls_->session().abandon();
  contenders_.clear();  // they refer to it
  calls_.reset();
}

/// The session again, for `timeout` from now, and our nodes in it.
Result<void> ZookeeperLock::take_session_again(Duration timeout, TimePoint until) {
  TRY_ASSIGN(auto taken, take_over(ensemble_, left_.key, timeout, until));
  const TimePoint began = began_;
  use(std::move(taken));
  began_ = began;
  contenders_.back().adopt(held_, static_cast<std::int64_t>(left_.token.value()), sent_);
  return {};
}

/// A lease without a keeper lasts as long as its session.
Duration ZookeeperLock::timeout_to_ask() const {
  if (spec_.left_to == 0) return spec_.ttl + spec_.lock_delay;
  return zookeeper::timeout_to_ask(spec_.ttl, spec_.lock_delay);
}

/// For those who look, and who would ask its holder to end; the lease is as good without it.
void ZookeeperLock::tell_end(const LeaveSpec& lease, TimePoint until) {
  HolderRecord data = record_of(spec_);
  data.slot = slot_;
  data.revoked = ran_word(lease.ran);
  data.at_least = lease.ttl;  // from this change of the node on: the node is as old as our wait
  (void)calls_->call_until(ask_change({set_node(held_, encode(data))}), until, nullptr);
}

/// From now on the session is as long as the lease, and known from a file alone.
Result<void> ZookeeperLock::leave(const LeaveSpec& spec, TimePoint until) {
  if (!spec_.take) return {};
  const Duration ttl = spec.ttl;
  const Duration timeout = ttl + spec_.lock_delay;
  if (timeout <= Duration(0)) return release(until);
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) (void)contenders_[i].remove(until);
  const bool is_made_for_it = timeout == timeout_to_ask();
  if (!is_made_for_it) detach_session();
  if (auto again = is_made_for_it ? Result<void>() : take_session_again(timeout, until); !again) {
    Error error = again.error();
    if (error.code == ErrorCode::kUnavailable) {
      error.message += "; unless it can be released before, " + spec_.name.text() +
                       " is free when its session ends, in " + human_duration(std::max(made_for_, timeout));
    }
    return error;
  }
  if (const auto ours = check_nodes(*calls_, {held_}, until); !ours) return ours;
  if (const auto long_enough = check_timeout(*calls_, timeout); !long_enough) return long_enough;
  if (!spec.ran.empty()) tell_end(spec, until);
  if (ttl > Duration(0)) {
    TRY_ASSIGN(const auto files, LeaseFiles::open(true));
    files.sweep_old();
    auto written = files.write({spec_.name,
                                spec_.owner,
                                ensemble_.store(),
                                calls_->key(),
                                contenders_.back().token(),
                                spec_.lock_delay,
                                timeout,
                                {held_},
                                began_ + kLongestHalfTick});
    if (!written) return written.error();
    lease_file_ = std::move(*written);  // a renewal waits until we are done with the session
  }
  keep_session_ = true;
  return {};
}

}  // namespace dlock::zookeeper
