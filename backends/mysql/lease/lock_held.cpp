// SPDX-License-Identifier: Apache-2.0
// The lock while it is held, and how it is given back.
#include <algorithm>
#include <utility>

#include "backends/mysql/lease/admin.h"
#include "backends/mysql/lease/lock.h"
#include "lib/base/random.h"
#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRetryAfter = 10ms;

}  // namespace

/// The row as we know it has no other holder, and was written through this connection.
bool LeaseLock::is_alone() const {
  if (unknown_ || row_.version == 0 || row_.holders.size() != 1) return false;
  const LeaseHolder& holder = row_.holders.front();
  const bool ours = holder.owner == spec_.owner.text() && holder.entries == std::vector{holder.owner};
  return ours && holder.connection == connection_ && generation_ == servers_.generation();
}

Renewal LeaseLock::renew(Control& control, TimePoint until) {
  const bool wants_gate = spec_.take && spec_.mode == Mode::kExclusive;
  if (is_alone() && (!wants_gate || store_.has_gate() || store_.without_gates())) {
    const TimePoint sent = runtime_.clock.now();
    const auto extended = store_.extend(row_, spec_.ttl, until, &control);
    if (extended && *extended == Written::kYes) return renewed(sent);
  }
  std::string why = "no answer in time";
  while (true) {
    const auto answer = renew_what_is_read(wants_gate, until, control);
    if (answer && *answer) return **answer;
    if (!answer) why = answer.error().message;
    const bool passing = answer || answer.error().code == ErrorCode::kUnavailable;
    const TimePoint next = runtime_.clock.now() + (answer ? collision_pause() : kRetryAfter + jitter(kRetryAfter));
    if (!passing || next >= until || !dlock::rest(runtime_.clock, next, &control)) return RenewalUnknown{why};
  }
}

RenewalRenewed LeaseLock::renewed(TimePoint sent) {
  collisions_ = 0;
  leased_at_ = sent;
  const LeaseHolder* ours = find_holder(row_, holder_);
  return {lease_deadline(sent, spec_.ttl), ours ? revocation_of(ours->who) : std::string()};
}

/// One look and one write; nullopt: the row has changed in between.
Result<std::optional<Renewal>> LeaseLock::renew_what_is_read(bool wants_gate, TimePoint until, Control& control) {
  const auto reading = store_.read(wants_gate && !store_.has_gate(), until, &control);
  if (!reading) return reading.error();
  row_ = reading->row;
  read_at_ = reading->now;
  connection_ = reading->connection;
  generation_ = servers_.generation();
  auto next = extend(reading->row, holder_, spec_.ttl, false, reading->now);
  if (!next) return std::optional<Renewal>(RenewalLost{why_lost(*reading)});
  for (LeaseHolder& holder : next->holders) {
    if (holder.owner == holder_) holder.connection = connection_;
  }
  const auto written = store_.change(reading->row, *next, until, &control);
  if (!written) return written.error();
  if (*written != Written::kYes) return std::optional<Renewal>();
  row_ = *next;
  unknown_ = false;
  return std::optional<Renewal>(renewed(reading->sent));
}

/// Our hold is not in the row that was read.
std::string LeaseLock::why_lost(const LeaseReading& reading) const {
  if (find_holder(reading.row, holder_)) return "its lease ended by the clock of " + store_name_;
  const bool nobody = state_of(reading.row, spec_.name, store_name_, reading.now).holders.empty();
  return nobody ? store_name_ + " no longer has this lock (it expired, or was deleted)"
                : "it has another holder on " + store_name_;
}

void LeaseLock::add_interest(std::vector<pollfd>& fds) const {
  if (const Database* database = servers_.current()) database->add_interest(fds);
}

/// The server has ended the connection: by KILL (so a force-release reaches us), or because it goes down. The row says
/// what that means.
Renewal LeaseLock::held(TimePoint now) {
  Database* database = servers_.current();
  if (database == nullptr || database->usable()) return RenewalHeld{};
  servers_.close();
  return renew(*control_, now + std::min<Duration>(1s, spec_.ttl / 6));
}

/// Compare and set with what we wrote last; if that is not there any more, with what is.
Result<void> LeaseLock::release_row(TimePoint until) {
  const std::string entry = spec_.owner.text();
  bool unanswered = unknown_;
  bool fresh = !unknown_ && !unknown_take_ && row_.version != 0;
  const auto attempt = [&]() -> Result<void> {
    while (true) {
      LeaseRow row = row_;
      ServerTime now = read_at_;
      if (!fresh) {
        auto reading = store_.read(false, until, nullptr);
        if (!reading) return reading.error();
        row = std::move(reading->row), now = reading->now, fresh = true;
      }
      auto next = give_back(row, holder_, &entry, now);
      // A write of ours may still be on its way: no more with this version, or our name in the row.
      const bool outdated = unknown_take_ ? find_holder(row, entry) != nullptr : row.version != row_.version;
      if (!next && (unanswered || unknown_take_) && outdated) return {};
      if (!next && (unanswered || unknown_take_)) next = given_up(row, entry);
      if (!next) return not_held(spec_.name);
      const auto written = store_.has_gate() ? store_.change_and_release_gate(row, *next, until)
                                             : store_.change(row, *next, until, nullptr);
      fresh = false;
      if (!written) {
        unanswered = unanswered || written.error().code == ErrorCode::kUnavailable;
        return written.error();
      }
      if (*written == Written::kYes) return {};
      runtime_.clock.sleep_until(std::min(until, runtime_.clock.now() + collision_pause()));
    }
  };
  return dlock::insist(runtime_.clock, until, kRetryAfter, attempt).answer;
}

/// The end of the connection opens the gate, if it is not open yet.
Result<void> LeaseLock::release(TimePoint until) {
  const auto released = release_row(until);
  if (!released || store_.has_gate()) servers_.close();
  return released;
}

/// Nothing is asked about a lease that has just begun: nothing can go wrong with it any more.
Result<void> LeaseLock::leave(const LeaveSpec& spec, TimePoint until) {
  const Duration ttl = spec.ttl;
  const bool stays = spec.ran.empty() && ttl == spec_.ttl && has_just_begun(leased_at_, runtime_.clock.now(), ttl);
  if (!stays) {
    const auto left = store_.rewrite(
        [&](const LeaseRow& row, ServerTime now) { return extend(row, holder_, ttl, true, now, spec.ran); }, until);
    if (!left) return left.error();
    if (!*left) return not_held(spec_.name);
  }
  servers_.close();
  return {};
}

}  // namespace dlock::mysql
