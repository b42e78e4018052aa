// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/lock.h"

#include <algorithm>
#include <utility>

#include "backends/mysql/bound/admin.h"
#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/connection/waiting.h"
#include "lib/base/human_text.h"
#include "lib/lock/lease.h"
#include "lib/lock/who_text.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHolderViewBudget = 1s;
constexpr Duration kLockedRowPause = 10ms;
constexpr Duration kRecordBudget = 1s;  ///< to clear it, once the lock is given back
constexpr int kRowAttempts = 3;

/// The server lets go no earlier than ttl after what it heard last.
std::vector<DatabaseSettings> with_lease(std::vector<DatabaseSettings> servers, Duration ttl) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count();
  for (DatabaseSettings& server : servers) {
    server.idle_seconds = static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 31536000));
  }
  return servers;
}

}  // namespace

ConnectionBoundLock::ConnectionBoundLock(Settings settings, const Dial& dial, const LockSpec& spec,
                                         const Runtime& runtime)
    : settings_(std::move(settings)),
      runtime_(runtime),
      spec_(spec),
      servers_(with_lease(settings_.servers, spec.ttl), dial, runtime.clock),
      record_(servers_, settings_.strategy, spec.name),
      store_(settings_, spec.name, servers_),
      who_(who_text(spec)),
      acquisition_(spec_, runtime_, *this) {}

std::optional<std::variant<Granted, Refused>> ConnectionBoundLock::acquire(Control& control) {
  return acquisition_.run(control);
}

Acquirer::Attempt ConnectionBoundLock::attempt(TimePoint /*until*/, Control& control) {
  auto attempt = try_once(control);
  while (std::holds_alternative<Busy>(attempt) && may_be_a_look() && !control.stop_requested()) {
    acquisition_.pause(runtime_.clock.now() + kLockedRowPause, control);
    attempt = try_once(control);
  }
  if (std::holds_alternative<Error>(attempt)) {
    servers_.close();  // whatever it may hold
    got_it_ = false;
  } else if (std::holds_alternative<Busy>(attempt)) {
    acquisition_.trace("already held on " + servers_.server() + ", queued there");
  }
  return attempt;
}

/// A row is also locked, for a moment, by who looks whether it is.
bool ConnectionBoundLock::may_be_a_look() {
  return acquisition_.patience().is_once() && settings_.strategy == Strategy::kRow && ++quick_ < kRowAttempts;
}

Acquirer::Attempt ConnectionBoundLock::try_once(Control& control) {
  const TimePoint now = runtime_.clock.now();
  const TimePoint until = acquisition_.patience().attempt_end(now);
  if (!std::exchange(got_it_, false)) {
    const auto seen = record_.read(HolderRow::From::kWritable, until, &control);
    if (!seen) return seen.error();
    if (seen->galera) return of_one_node(servers_.server(), settings_.strategy);
    session_ = seen->connection;
    if (since_ == 0) since_ = seen->now;
    if (const auto takes = takes_changes(until, control); !takes) return takes.error();
    return take(until, control);
  }
  // The lease counts from a request that the connection answered after it had the lock.
  const AnswerOrFailure answered = ask(*servers_.current(), "DO 1", runtime_.clock, until, &control);
  if (const auto* failure = std::get_if<Failure>(&answered)) return Error{ErrorCode::kUnavailable, failure->text};
  return granted(now, until, control);
}

/// Asked of a server that has refused the record: who takes the lock there and has to give it back again is a holder to
/// all others that try the same. And of one where a row is locked: a server that is being made read-only says the same
/// of every row.
Result<void> ConnectionBoundLock::takes_changes(TimePoint until, Control& control) {
  if (!changes_refused_) return {};
  TRY(servers_.run(kChangeNothing, until, &control));
  changes_refused_ = false;
  return {};
}

Acquirer::Attempt ConnectionBoundLock::take(TimePoint until, Control& control) {
  if (const auto connected = servers_.connect(until, &control); !connected) return connected.error();
  if (prepared_ != servers_.generation()) {
    const int seconds = wait_seconds({}, runtime_.clock.now());
    if (const auto fit = store_.prepare(seconds, until, &control); !fit) {
      return fit.error();
    }
    prepared_ = servers_.generation();
  }
  const TimePoint sent = runtime_.clock.now();
  const auto got = store_.try_it(until, &control);
  if (!got) return got.error();
  if (*got == BoundStore::Got::kNo) {
    changes_refused_ = settings_.strategy == Strategy::kRow;
    const auto takes = takes_changes(until, control);
    return takes ? Attempt(Busy{}) : Attempt(takes.error());
  }
  return granted(sent, until, control);
}

/// We have it. The token is drawn after the grant, on a connection of its own where ours is in a transaction: it must
/// stay drawn when that one is rolled back.
Acquirer::Attempt ConnectionBoundLock::granted(TimePoint sent, TimePoint until, Control& control) {
  if (!spec_.take) {
    servers_.close();
    return Granted{};
  }
  Servers beside = servers_.beside();
  Servers& way = settings_.strategy == Strategy::kRow ? beside : servers_;
  const int generation = servers_.generation();
  const HolderRecord ours{.connection = session_, .owner = spec_.owner.text(), .who = who_};
  const auto drawn = HolderRow(way, settings_.strategy, spec_.name).draw(ours, until, &control);
  changes_refused_ = !drawn && drawn.error().undone;
  if (!drawn) return drawn.error();
  token_ = *drawn;
  Database* database = servers_.current();
  if (servers_.generation() != generation || database == nullptr || !database->usable()) {
    return Error{ErrorCode::kUnavailable, "the connection to " + servers_.server() + " broke"};
  }
  HeldLock lock{spec_.name, spec_.owner, FencingToken(token_), settings_.store, false};
  lock.bound = true;
  return Granted{{std::move(lock)}, lease_deadline(sent, spec_.ttl)};
}

bool ConnectionBoundLock::wait(std::optional<TimePoint> until, Control& control) {
  if (acquisition_.patience().queues()) wait_in_queue(until, control);
  else acquisition_.pause(until, control);
  return got_it_ || !acquisition_.patience().is_over(runtime_.clock.now());
}

void ConnectionBoundLock::wait_in_queue(std::optional<TimePoint> until, Control& control) {
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return;
  const TimePoint now = runtime_.clock.now();
  const WaitingNote note{spec_.owner.text(), spec_.mode, since_, who_, spec_.take};
  const auto begun =
      store_.begin_wait(note, wait_seconds(until, now), acquisition_.patience().attempt_end(now), &control);
  if (!begun) return;
  const WaitsFor what = settings_.strategy == Strategy::kRow ? WaitsFor::kRow : WaitsFor::kGate;
  const auto outcome = wait_on_server(acquisition_, servers_, runtime_.clock, session_, until, control, what).outcome;
  if (!outcome) return;
  const auto got = store_.waited(*outcome, runtime_.clock.now() + kHolderViewBudget);
  got_it_ = got && *got == BoundStore::Got::kYes;
}

/// On a connection of its own, while ours waits.
Result<LockState> ConnectionBoundLock::describe(Control& /*control*/) {
  const Runtime quick{runtime_.clock, runtime_.log, kHolderViewBudget};
  return BoundAdmin(settings_, servers_.beside(), quick).inspect(spec_.name);
}

/// One ping at a time; one that is late still counts, from when it was sent.
Renewal ConnectionBoundLock::renew(Control& control, TimePoint until) {
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return RenewalLost{"the connection that held it has ended"};
  if (!ping_sent_) {
    ping_sent_ = runtime_.clock.now();
    // Its answer, and with it who asks for the lock back.
    database->begin(std::string(kAskReadOnly) + "," + record_.text_query(token_));
  }
  while (true) {
    if (auto answer = pinged(*database)) return std::move(*answer);
    if (control.stop_requested() || runtime_.clock.now() >= until) return RenewalUnknown{"no answer in time"};
    std::vector<pollfd> fds;
    control.add_interest(fds);
    database->add_interest(fds);
    runtime_.clock.wait(fds, until);
  }
}

void ConnectionBoundLock::add_interest(std::vector<pollfd>& fds) const {
  if (const Database* database = servers_.current()) database->add_interest(fds);
}

Renewal ConnectionBoundLock::held(TimePoint /*now*/) {
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return RenewalLost{"the connection that held it has ended"};
  return pinged(*database).value_or(RenewalHeld{});
}

/// The answer to the ping that is under way, if it has come.
std::optional<Renewal> ConnectionBoundLock::pinged(Database& database) {
  const auto outcome = ping_sent_ ? database.outcome() : std::nullopt;
  if (!outcome) return std::nullopt;
  const TimePoint sent = *std::exchange(ping_sent_, std::nullopt);
  if (const auto* answer = std::get_if<Answer>(&*outcome)) return judge_ping(*answer, sent);
  const auto& failure = std::get<Failure>(*outcome);
  if (!failure.cut_off) return RenewalUnknown{failure.text};
  return RenewalLost{"the connection that held it has ended: " + printable(failure.text, kForeignWords)};
}

/// Another server has taken the place of ours, which is read-only, and knows nothing of the lock: one that the URL
/// names, or that its name leads to now.
bool ConnectionBoundLock::is_relieved() const {
  if (servers_.count() > 1) return true;
  const TimePoint until = runtime_.clock.now() + std::min<Duration>(kRecordBudget, spec_.ttl / 6);
  const auto answer = servers_.beside().run(kAskReadOnly, until);
  return answer && !says_read_only(*answer);
}

Renewal ConnectionBoundLock::judge_ping(const Answer& answer, TimePoint sent) const {
  if (says_read_only(answer) && is_relieved())
    return RenewalLost{servers_.server() + ", which held it, has become read-only"};
  const std::string ours = answer.rows.empty() ? std::string() : text_of(answer.rows.front(), 1);
  return RenewalRenewed{lease_deadline(sent, spec_.ttl), revocation_of(decode_holder(token_, ours).who)};
}

Error ConnectionBoundLock::lost_with_connection() {
  servers_.close();
  return {ErrorCode::kLost, spec_.name.text() + " was lost with its connection"};
}

/// The row goes first: a change waits for whoever makes the server read-only, who waits for those that wait for the
/// row.
Result<void> ConnectionBoundLock::release_row(TimePoint until) {
  Database* database = servers_.current();
  if (database == nullptr || !database->usable()) return lost_with_connection();
  const auto done = store_.release(until);
  if (!done && !database->usable()) return lost_with_connection();
  if (done) (void)record_.clear(token_, std::min(until, runtime_.clock.now() + kRecordBudget));
  servers_.close();
  return done;
}

/// Of a named lock the record goes first.
Result<void> ConnectionBoundLock::release(TimePoint until) {
  Database* database = servers_.current();
  if (database != nullptr && ping_sent_) (void)await(*database, runtime_.clock, until, nullptr);
  ping_sent_.reset();
  if (settings_.strategy == Strategy::kRow) return release_row(until);
  const int generation = servers_.generation();
  std::optional<Result<bool>> gone;
  if (database != nullptr && database->usable()) gone = record_.clear(token_, until);
  if (gone && !*gone && runtime_.clock.now() >= until) {
    servers_.close();  // and with it the lock, which we had until now
    return gone->error();
  }
  database = servers_.current();
  const bool refused = gone && !*gone && gone->error().undone && servers_.generation() == generation;
  if (refused && database == nullptr) return {};  // we left a server that has become read-only, and the lock with it
  if (servers_.generation() != generation || database == nullptr || !database->usable()) {
    return lost_with_connection();
  }
  const auto done = database->usable() ? store_.release(until) : Result<void>();
  servers_.close();  // and with it the lock, as soon as the server hears of it
  return done;
}

Result<void> ConnectionBoundLock::leave(const LeaveSpec& spec, TimePoint until) {
  // After an unclean end nothing is left but the delay, which this strategy does not have.
  if (spec.ttl == Duration(0)) return release(until);
  return lives_with_its_connection(settings_.strategy);
}

}  // namespace dlock::mysql
