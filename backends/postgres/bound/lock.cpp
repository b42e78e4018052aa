// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/bound/lock.h"

#include <utility>

#include "backends/postgres/bound/admin.h"
#include "backends/postgres/connection/schema.h"
#include "backends/postgres/rows/rows.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/lease.h"
#include "lib/lock/who_text.h"
#include "lib/row_lock/rules.h"

namespace dlock::postgres {
namespace {

constexpr Duration kViewBudget = std::chrono::seconds(1);
constexpr char kGone[] = "the connection that held it has ended";

Error lost_with_connection(const LockName& name) {
  return {ErrorCode::kLost, name.text() + " was lost with its connection"};
}

}  // namespace

BoundLock::BoundLock(Settings settings, const LockSpec& spec, const Runtime& runtime)
    : runtime_(runtime),
      spec_(spec),
      servers_(std::make_shared<Servers>(std::move(settings), runtime.clock)),
      rows_(make_rows(servers_, kSessionSpace)),
      number_(lock_number(spec.name)) {}

bool BoundLock::has_lost_connection() const {
  return !servers_->current() || !servers_->current()->usable() || servers_->generation() != prepared_;
}

/// A new connection. PostgreSQL 14 and later end a session that says nothing for so long; older ones ask the kernel.
Result<void> BoundLock::prepare(const CallLimit& limit) {
  TRY(servers_->connect(limit));
  if (servers_->generation() == prepared_) return {};
  TRY_ASSIGN(const bool pooled, servers_->is_pooled(limit));
  if (pooled) {
    return Error{ErrorCode::kUnsupported,
                 servers_->server() +
                     " is a pooler, and a lock of strategy=session would be that of a connection which "
                     "others use",
                 "name the server itself in the URL, or use strategy=lease"};
  }
  const std::string ttl = std::to_string(std::chrono::ceil<std::chrono::milliseconds>(spec_.ttl).count());
  const std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(spec_.ttl).count());
  TRY(servers_->run(
      "SELECT set_config('application_name',$1,false),(SELECT count(set_config(name,v,false)) FROM "
      "pg_settings JOIN (VALUES('idle_session_timeout',$2),('tcp_user_timeout',$2),"
      "('tcp_keepalives_idle',$3),('tcp_keepalives_interval','1'),('tcp_keepalives_count','3')) AS s(n,v) "
      "ON name=n)",
      {session_name(spec_.owner.text()), ttl, seconds}, limit));
  prepared_ = servers_->generation();
  return {};
}

PollableLock::Attempt BoundLock::take(Control& control) {
  const CallLimit limit{Patience(spec_.wait).attempt_end(runtime_.clock.now()), &control};
  TRY(prepare(limit));
  TRY_ASSIGN(const auto got, servers_->run("SELECT pg_try_advisory_lock(" + number_ + ")", {}, limit));
  if (got.empty() || text_of(got.front(), 0) != "t") {
    TRY_ASSIGN(auto state, read_state(limit.until, &control));
    return Others{std::move(state), {}};
  }
  // Counted from a question that was answered when it was ours already.
  const TimePoint sent = runtime_.clock.now();
  const auto token = write_record(limit);
  if (token && !has_lost_connection()) return Taken{FencingToken(*token), sent, true};
  servers_->close();
  return token ? Error{ErrorCode::kUnavailable, "the connection to " + servers_->server() + " broke"} : token.error();
}

/// Only who has the lock writes, and who asks for it back.
Result<Rows::Number> BoundLock::write_record(const CallLimit& limit) {
  LockRecord record;
  record.holders = {{.owner = spec_.owner.text(), .until = kLatestTime, .who = who_text(spec_)}};
  while (true) {
    const std::string key = kLockRow;
    TRY_ASSIGN(const auto look, rows_->read(spec_.name, {&key, 1}, limit));
    TRY_ASSIGN(token_, rows_->commit(
                           spec_.name,
                           {{Rows::Change::Kind::kPut, key, look.rows.front().version, encode_record(record)}}, limit));
    if (token_ != 0) return token_;
  }
}

/// One question at a time; the answer to one that is late still counts, from when it was sent. It also says who asks
/// for the lock back, and whether the server has become a standby: then another one has relieved it, which knows
/// nothing of the lock.
Renewal BoundLock::renew(Control* control, TimePoint until) {
  if (has_lost_connection()) return RenewalLost{kGone};
  if (!ping_sent_) {
    ping_sent_ = runtime_.clock.now();
    (void)servers_->current()->begin(std::string("SELECT current_setting('transaction_read_only'),version,"
                                                 "encode(text,'hex'),") +
                                         kNow + " FROM (SELECT) AS one LEFT JOIN " + kTable +
                                         " ON space=$1 AND name=$2::bytea AND id=$3::bytea",
                                     {std::string(kSessionSpace.name), "\\x" + hex(spec_.name.text()), kLockRow});
  }
  return answer(control, until);
}

Renewal BoundLock::answer(Control* control, TimePoint until) {
  while (true) {
    if (auto outcome = servers_->current()->take()) return judge(*outcome, *std::exchange(ping_sent_, std::nullopt));
    if ((control && control->stop_requested()) || runtime_.clock.now() >= until)
      return RenewalUnknown{"no answer in time"};
    std::vector<pollfd> fds;
    if (control) control->add_interest(fds);
    add_interest(fds);
    runtime_.clock.wait(fds, until);
  }
}

Renewal BoundLock::judge(const AnswerOrFailure& outcome, TimePoint sent) const {
  if (const auto* failure = std::get_if<Failure>(&outcome)) {
    if (!failure->cut_off) return RenewalUnknown{failure->text};
    return RenewalLost{std::string(kGone) + ": " + printable(failure->text, kForeignWords)};
  }
  const Answer& answer = std::get<Answer>(outcome);
  const Row row = answer.empty() ? Row() : answer.front();
  if (text_of(row, 0) == "on") return RenewalLost{servers_->server() + ", which held it, has become read-only"};
  const auto record =
      decode_record({from_hex(text_of(row, 2)).value_or(""), leading_number<Rows::Number>(text_of(row, 1)),
                     leading_number<StoreTime>(text_of(row, 1))},
                    leading_number<StoreTime>(text_of(row, 3)));
  const LeaseHolder* ours = record ? find_holder(*record, spec_.owner.text()) : nullptr;
  return RenewalRenewed{lease_deadline(sent, spec_.ttl), ours ? revocation_of(ours->who) : ""};
}

void BoundLock::add_interest(std::vector<pollfd>& fds) const {
  if (const Connection* connection = servers_->current()) connection->add_interest(fds);
}

/// What has come is read, so that it wakes us once. An answer that is late is for the next renewal.
std::optional<std::string> BoundLock::disturbed(TimePoint /*now*/) {
  if (servers_->current()) servers_->current()->heard();
  if (has_lost_connection()) return kGone;
  return std::nullopt;
}

Result<void> BoundLock::withdraw(TimePoint /*until*/) {
  servers_->close();
  return {};
}

/// The record goes first: without the lock another may write it. One in which somebody has asked for the lock stays,
/// which decides nothing.
Result<void> BoundLock::release(TimePoint until) {
  if (!has_lost_connection() && ping_sent_) (void)answer(nullptr, until);
  if (has_lost_connection()) return lost_with_connection(spec_.name);
  const CallLimit limit{until};
  (void)rows_->commit(spec_.name, {{Rows::Change::Kind::kPut, kLockRow, token_, ""}}, limit);
  const bool lost = has_lost_connection();
  if (!lost) (void)servers_->run("SELECT pg_advisory_unlock(" + number_ + ")", {}, limit);
  servers_->close();  // and with it the lock, if it was not freed
  return lost ? Result<void>(lost_with_connection(spec_.name)) : Result<void>();
}

Result<void> BoundLock::leave(const LeaveSpec& spec, TimePoint until) {
  // After an unclean end nothing is left but the delay, which this strategy does not have.
  if (spec.ttl == Duration(0)) return release(until);
  return lives_with_its_connection();
}

Result<LockState> BoundLock::read_state(TimePoint /*until*/, Control* /*control*/) {
  return BoundAdmin(servers_, {runtime_.clock, runtime_.log, kViewBudget}).inspect(spec_.name);
}

}  // namespace dlock::postgres
