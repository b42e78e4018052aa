// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/named_segments.h"

#include <algorithm>
#include <chrono>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/stock/transaction.h"
#include "lib/base/text.h"
#include "lib/lock/patience.h"

namespace dlock::mysql {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGrace = 400ms;  ///< for the server's answer that a wait is over
constexpr Duration kConnectBudget = 5s;
constexpr char kNone[] = "1000000";  ///< no segment
static_assert(kMostSegments < 1'000'000);

constexpr char kDatabase[] = "LEFT(SHA2(DATABASE(),256),32)";  ///< in as many characters as MySQL has left for it

/// `segment`: an SQL expression. Names are the server's, not the database's, and have 64 characters at most. NULL,
/// which locks nothing, where the other nodes of a cluster would not see the lock.
std::string lock_expression(const std::string& stock, const std::string& segment) {
  return "CONCAT('dlock:',IF(" + std::string(kGalera) + ",NULL," + kDatabase + "),'." + stock + ".'," + segment + ")";
}

/// The holder of this one is the next at the segment, and has it only as long as the wait: so the queues are equally
/// long.
std::string seat_expression(const std::string& stock, const std::string& segment) {
  return "CONCAT('dlock:'," + std::string(kDatabase) + ",'+" + stock + ".'," + segment + ")";
}

std::string seconds_text(Duration wait) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max<Duration>(wait, 0s)).count();
  return std::to_string(ms / 1000) + "." + std::to_string(1000 + ms % 1000).substr(1);
}

std::string get_lock(const std::string& name, Duration wait) {
  return "GET_LOCK(" + name + "," + seconds_text(wait) + ")";
}

}  // namespace

/// One of them. Held from acquire() on, or from the beginning; until its connection is another one, or all are
/// released.
class NamedSegment final : public LockDriver {
 public:
  /// Not held yet.
  NamedSegment(NamedSegments& home, int segment, const LockSpec& spec)
      : home_(home), segment_(std::to_string(segment)), spec_(spec) {}
  /// Held by the present connection.
  explicit NamedSegment(NamedSegments& home) : home_(home) { took(); }

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override {
    const TimePoint now = home_.clock_.now();
    const Patience patience(spec_->wait);
    const Duration wait = patience.is_once() ? Duration(0) : patience.until().value_or(now) - now;
    const std::string& stock = home_.stock_.id;
    const std::string query = "SELECT " + get_lock(lock_expression(stock, segment_), wait) + ",RELEASE_LOCK(" +
                              seat_expression(stock, segment_) + ")";
    const TimePoint until = now + std::max<Duration>(wait, 0s) + (wait > 0s ? kGrace : kConnectBudget);
    const auto answer = home_.ask(query, spec_->ttl, until, &control);
    const bool got = answer && answer->rows.size() == 1 && text_of(answer->rows[0], 0) == "1";
    if (got) took();
    if (control.stop_requested()) {
      (void)release(home_.clock_.now() + kGrace);
      return std::nullopt;
    }
    if (!answer) return Refused{answer.error(), std::nullopt};
    if (!got) return Refused{{ErrorCode::kBusy, spec_->name.text() + " is already held"}, std::nullopt};
    return Granted{{HeldLock{spec_->name, spec_->owner, FencingToken(), home_.store_}}, std::nullopt};
  }

  Renewal renew(Control& /*control*/, TimePoint /*until*/) override { return held({}); }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (const Database* database = home_.servers_.current()) database->add_interest(fds);
  }

  std::optional<TimePoint> wake_at() const override { return std::nullopt; }

  Renewal held(TimePoint /*now*/) override {
    if (is_held()) return RenewalHeld{};
    home_.servers_.close();
    return RenewalLost{"the connection that held the lock of its segment has ended"};
  }

  /// With all others of this connection: they are those of one request. Where that cannot be said, its end says it.
  Result<void> release(TimePoint until) override {
    if (!is_held()) return {};
    if (!home_.ask(home_.release_statement(), Duration(0), until, nullptr)) home_.servers_.close();
    home_.released();
    return {};
  }

  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint until) override { return release(until); }

 private:
  void took() { home_.held_ = held_by_ = home_.servers_.generation(); }

  /// Another lock may be held by a later connection.
  bool is_held() {
    Database* database = home_.servers_.current();
    return home_.hold() && home_.held_ == held_by_ && database != nullptr && database->usable();
  }

  NamedSegments& home_;
  const std::string segment_;
  const std::optional<LockSpec> spec_;
  int held_by_ = 0;  ///< the connection
};

Result<Answer> NamedSegments::ask(const std::string& batch, Duration ttl, TimePoint until, Control* control) {
  const auto database = servers_.connect(until, control);
  if (!database) return database.error();
  std::string whole = batch;
  if (ttl > 0s && (told_ != servers_.generation() || told_ttl_ < ttl)) {
    const auto seconds =
        std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(ttl).count() + 1, 15, 31536000);
    whole = "SET SESSION wait_timeout=" + std::to_string(seconds) + ";" + batch;
  }
  AnswerOrFailure outcome = mysql::ask(**database, whole, clock_, until, control);
  if (auto* answer = std::get_if<Answer>(&outcome)) {
    if (ttl > 0s) {
      told_ = servers_.generation();
      told_ttl_ = std::max(told_ttl_, ttl);
    }
    return std::move(*answer);
  }
  const auto& failure = std::get<Failure>(outcome);
  refused_ = refused_ || is_without_named_locks(failure.code);
  return servers_.failed(failure);
}

/// The rows come in the order of their key, so that the server asks for no lock after the first that it gets. Where
/// all are locked, one without another waiter, so that none lies idle while others are waited for.
Result<std::optional<SegmentLocks::Choice>> NamedSegments::lock_one(const StockRequest& request, int start,
                                                                    Duration ttl, const CallLimit& limit) {
  const auto found = find_(request.stock, limit);
  if (!found) return found.error();
  if (!*found) return std::optional<Choice>();
  stock_ = **found;
  const std::string first = std::to_string(start % stock_.segments);
  const std::string from = std::string(" FROM ") + kSegmentTable + " WHERE stock=" + stock_.id +
                           " AND quantity>=" + std::to_string(request.quantity) + " AND segment";
  const std::string free = " AND GET_LOCK(" + lock_expression(stock_.id, "segment") + ",0)=1";
  const std::string if_none = std::string(" AND LAST_INSERT_ID()=") + kNone;
  const std::string last = " ORDER BY segment LIMIT 1";
  const std::string take = "SELECT LAST_INSERT_ID(segment),1" + from;
  const std::string choose = "SELECT LAST_INSERT_ID(segment),0" + from;
  const std::string alone = " AND GET_LOCK(" + seat_expression(stock_.id, "segment") + ",0)=1";
  std::string batch = std::string("DO LAST_INSERT_ID(") + kNone + ");SELECT 1 FROM DUAL WHERE " + kGalera;
  batch += ";" + take + ">=" + first + free + last + ";" + take + "<" + first + if_none + free + last;
  batch += ";" + choose + ">=" + first + if_none + alone + last + ";" + choose + "<" + first + if_none + alone + last;
  batch += ";" + choose + ">=" + first + if_none + last + ";" + choose + "<" + first + if_none + last;
  const auto answer = ask(batch, ttl, limit.until, limit.control);
  if (!answer && refused_) return std::optional<Choice>();
  if (!answer) return answer.error();
  refused_ = !answer->rows.empty() && answer->rows[0].size() == 1;
  if (answer->rows.empty() || answer->rows[0].size() != 2) return std::optional<Choice>();
  Choice choice{static_cast<int>(number_of(answer->rows[0], 0)), nullptr};
  if (text_of(answer->rows[0], 1) == "1") choice.lock = std::make_unique<NamedSegment>(*this);
  return std::optional(std::move(choice));
}

std::unique_ptr<LockDriver> NamedSegments::open(int segment, const LockSpec& spec) {
  return std::make_unique<NamedSegment>(*this, segment, spec);
}

Result<std::optional<StockAnswer>> NamedSegments::reserve_at_once(const StockRequest& request, const Owner& owner,
                                                                  Duration ttl, int segment, TimePoint until,
                                                                  const CallLimit& limit) {
  const std::string number = std::to_string(segment);
  const TimePoint end = std::max(until, clock_.now()) + kGrace;
  LockFirst wait{get_lock(lock_expression(stock_.id, number), until - clock_.now()),
                 "RELEASE_LOCK(" + seat_expression(stock_.id, number) + ")"};
  auto answer = reserve_(request, owner, ttl, std::move(wait), {end, limit.control});
  if (answer && *answer && std::holds_alternative<StockTaken>(**answer)) held_ = servers_.generation();
  return answer;
}

std::unique_ptr<LockDriver> NamedSegments::held() { return std::make_unique<NamedSegment>(*this); }

}  // namespace dlock::mysql
