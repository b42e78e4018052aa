// SPDX-License-Identifier: Apache-2.0
// A lock from its grant to its end.
#include <algorithm>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/lock.h"
#include "lib/lock/who_text.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWatchAgain = 1s;  ///< after a watch that could not be set
constexpr Duration kOutage = 300ms;   ///< without a connection, after which the session is asked about anew
/// The session of who takes a lease is not needed any more when the lease is there.
constexpr Duration kTakingTtl = 30s;

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
  if (calls_) calls_->session().close();
}

/// The gate of a semaphore is for whoever comes next; its removal must not be lost while we hold.
void ZookeeperLock::release_gates() {
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) contenders_[i].remove_meanwhile();
}

/// A server announces a watch before it answers a request that came after the change: no question is needed whether
/// they are there. Watches outlive their connection, but a library has to see to that.
bool ZookeeperLock::is_watched() const {
  return watched_by_ > 0 && watched_by_ == calls_->connections() && !watching_ && !has_news();
}

/// Servers announce nothing of a node that may not be read any more: once in a ttl it is asked for all the same.
bool ZookeeperLock::is_to_be_read(TimePoint now) const {
  return !is_watched() || now >= looked_at_ + std::min(spec_.ttl, calls_->timeout());
}

/// Events that came during it are read with the answers.
Renewal ZookeeperLock::renew(Control& control, TimePoint until) {
  release_gates();
  if (auto answer = keep_by_session(until)) return *answer;
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
    else if (i > 0) gone = gone || !contenders_.back().is_ours(*answer);
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
  return calls_->has_fired(held_) || (watching_ && calls_->has_answer(*watching_));
}

std::optional<TimePoint> ZookeeperLock::wake_at() const {
  if (has_news()) return TimePoint();
  return calls_ ? earlier(earlier(watch_at_, asks_anew_at()), calls_->wake_at()) : watch_at_;
}

/// Servers that have lost their data close each connection of a session that has seen them, and never say that it has
/// ended: one that has seen nothing is notified. Each renewal in it reads our nodes after a sync.
std::optional<TimePoint> ZookeeperLock::asks_anew_at() const {
  const auto out = calls_ ? calls_->out_since() : std::nullopt;
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
    watch_again(Duration(0));  // the watch has gone with the handle
  }
  release_gates();
  if (contenders_.back().is_unsure()) {  // the node may have gone for another one of ours: a renewal finds it
    watch_again(kWatchAgain);
    return RenewalHeld{};
  }
  const bool changed = calls_->take_fired(held_);
  const bool due = watch_at_ && now >= *watch_at_;
  if (!changed && !due) return judge_watched();
  watch_at_.reset();
  watched_by_ = calls_->connections();
  looked_at_ = now;
  forget_read();
  watching_ = calls_->send(ask_data(held_, true));
  return RenewalHeld{};
}

RenewalLost ZookeeperLock::lost_by_deletion() const { return {"it was deleted on " + ensemble_.store()}; }

Renewal ZookeeperLock::judge_watched() {
  if (!watching_ || !calls_->has_answer(*watching_)) return RenewalHeld{};
  const auto answer = calls_->answer(*std::exchange(watching_, std::nullopt), TimePoint(), nullptr);
  if (!answer) {
    watched_by_ = 0;
    watch_at_ = runtime_.clock.now() + kWatchAgain;
    return RenewalHeld{};
  }
  if (!contenders_.back().is_ours(*answer)) return lost_by_deletion();
  const auto asked = revocation_in(decode_record(answer->data), answer->data);
  return asked ? Renewal(*asked) : RenewalHeld{};
}

void ZookeeperLock::forget_read() {
  if (const auto ticket = std::exchange(watching_, std::nullopt)) calls_->forget(*ticket);
}

/// Our node goes with the session where we have no right to delete it.
Result<void> ZookeeperLock::remove_node(TimePoint until) {
  auto removed = contenders_.back().remove(until);
  if (removed || removed.error().code != ErrorCode::kDenied) return removed;
  calls_->end();
  return {};
}

Result<void> ZookeeperLock::release(TimePoint until) {
  if (!spec_.take) return {};
  const auto released = remove_node(until);
  if (calls_->state() == SessionState::kExpired) return released;  // and with it all that was ours
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) (void)contenders_[i].remove(until);  // long gone, as a rule
  return released;
}

Duration ZookeeperLock::timeout_to_ask() const {
  const Duration ttl = spec_.left_to ? std::min<Duration>(spec_.ttl, kTakingTtl) : spec_.ttl;
  return zookeeper::timeout_to_ask(ttl, spec_.lock_delay);
}

/// What is held is watched where it is now.
Result<void> ZookeeperLock::keep(ContenderStore::Kept how, HolderRecord data, TimePoint until) {
  ContenderStore& contender = contenders_.back();
  data.slot = slot_;
  data.token = contender.token();
  const TimePoint began = runtime_.clock.now();
  const bool begins = how == ContenderStore::Kept::kAsLease && contender.kept() != how;
  if (begins) kept_since_ = began;  // also of one that is not answered
  TRY(contender.keep(how, encode(data), until));
  held_ = contender.path();
  watch_again(Duration(0));
  return {};
}

void ZookeeperLock::watch_again(Duration later) {
  calls_->take_fired(held_);
  forget_read();
  watched_by_ = 0;
  watch_at_ = runtime_.clock.now() + later;
}

/// A lease of ours that ends `ttl` from now: its node tells how long it lasts from its creation on.
HolderRecord ZookeeperLock::lease_of(Duration ttl) const {
  HolderRecord record = record_of(spec_);
  record.lasts = ttl;
  if (contenders_.back().kept() == ContenderStore::Kept::kAsLease) record.lasts += runtime_.clock.now() - kept_since_;
  return record;
}

/// Of --at-least: as soon as the session is sure to last for the rest of it. nullopt: there is nothing to be done, or
/// it is done.
std::optional<Renewal> ZookeeperLock::keep_by_session(TimePoint until) {
  if (contenders_.back().kept() != ContenderStore::Kept::kAsLease) return std::nullopt;
  const Duration rest = kept_since_ + spec_.at_least - runtime_.clock.now();
  if (rest > lease_within(calls_->timeout(), spec_.ttl, spec_.lock_delay)) return std::nullopt;
  const auto kept = keep(ContenderStore::Kept::kBySession, record_of(spec_), until);
  if (kept) return std::nullopt;
  if (kept.error().code == ErrorCode::kLost) return RenewalLost{kept.error().message};
  return RenewalUnknown{kept.error().message};
}

Result<void> ZookeeperLock::leave(const LeaveSpec& spec, TimePoint until) {
  if (!spec_.take) return {};
  if (spec.ttl + spec_.lock_delay <= Duration(0)) return release(until);
  TRY(check_leases(ensemble_.recipe()));
  for (std::size_t i = 0; i + 1 < contenders_.size(); ++i) (void)contenders_[i].remove(until);
  HolderRecord lease = lease_of(spec.ttl);
  if (spec.ran.empty()) lease.left_to = 0;
  else lease.revoked = ran_word(spec.ran);
  return keep(ContenderStore::Kept::kAsLease, std::move(lease), until);
}

}  // namespace dlock::zookeeper
