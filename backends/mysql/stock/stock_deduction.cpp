// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/stock_deduction.h"

#include <chrono>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

/// How often a race is lost before all segments are locked.
constexpr int kMostRaces = 8;

/// The row that is changed names itself by LAST_INSERT_ID(segment); kNoRow: there was none. (ROW_COUNT() would do, were
/// it not for clients that die: for those MariaDB goes on with the batch, and ROW_COUNT() is -1.)
/// Both are larger than any segment, and any token.
constexpr char kNoRow[] = "9000000000000000000";
constexpr char kNotLocked[] = "9000000000000000001";

std::string if_any() { return std::string(" FROM DUAL WHERE LAST_INSERT_ID()<") + kNoRow; }

}  // namespace

std::string end_after(Duration ttl) {
  return "UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(std::chrono::ceil<std::chrono::microseconds>(ttl).count()) +
         " MICROSECOND";
}

std::string insert_request(const std::string& key, const LockName& id, const std::string& record) {
  return "INSERT INTO " + std::string(kRequestTable) + "(stock,id,record) SELECT " + key + "," + literal(id.text()) +
         "," + record;
}

std::string insert_reservation(const std::string& key, const LockName& id, Duration ttl) {
  return "INSERT INTO " + std::string(kReservationTable) + "(stock,id,expires) SELECT " + key + "," +
         literal(id.text()) + "," + end_after(ttl);
}

Result<std::optional<StockAnswer>> Deduction::run(const StockRequest& request, const Owner* owner, Duration ttl,
                                                  int start, const CallLimit& limit) {
  if (!lock_.empty() && way_ != StockWay::kGuarded) return std::optional<StockAnswer>();
  request_ = &request;
  owner_ = owner;
  ttl_ = ttl;
  for (int races = 0; races < kMostRaces; ++races) {
    const std::string first = std::to_string((start + races) % segments_);
    std::vector<Where> places{"segment>=" + first, "segment<" + first};
    if (request.only_segment) places = {"segment=" + std::to_string(*request.only_segment)};
    auto tried = try_in(places, limit);
    const bool taken_by_others = !tried && transaction_.is_worth_repeating();
    if (taken_by_others && transaction_.failure_code() == kDuplicateKey) return std::optional<StockAnswer>();
    if (taken_by_others) continue;
    if (!tried || *tried || way_ != StockWay::kOptimistic) return tried;
  }
  return std::optional<StockAnswer>();
}

Result<std::optional<StockAnswer>> Deduction::try_in(const std::vector<Where>& places, const CallLimit& limit) {
  if (way_ != StockWay::kGuarded) {
    if (auto begun = transaction_.begin(limit); !begun) return begun.error();
    const auto place = choose(places);
    if (place) return deduct(*place);
    if (transaction_.failed()) return transaction_.commit().error();
    transaction_.rollback();
    return std::optional<StockAnswer>();
  }
  for (const Where& place : places) {
    if (auto begun = transaction_.begin(limit); !begun) return begun.error();
    auto deducted = deduct(place);
    if (!deducted || *deducted) return deducted;
  }
  return std::optional<StockAnswer>();
}

/// Those that somebody else has locked are passed by; a version is looked at without any lock.
std::optional<Deduction::Where> Deduction::choose(const std::vector<Where>& places) {
  const char* lock = way_ == StockWay::kPessimistic ? " FOR UPDATE SKIP LOCKED" : "";
  for (const Where& place : places) {
    const auto rows = transaction_.read("SELECT segment,version FROM " + fitting(place) + lock);
    if (rows.empty() || rows.front().size() != 2) continue;
    return "segment=" + rows.front()[0].value_or("") + " AND version=" + rows.front()[1].value_or("");
  }
  return std::nullopt;
}

std::string Deduction::fitting(const Where& place) const {
  return std::string(kSegmentTable) + " WHERE stock=" + key_ + " AND " + place +
         (lock_.empty() ? "" : std::string(" AND LAST_INSERT_ID()=") + kNoRow) +
         " AND quantity>=" + std::to_string(request_->quantity) + " ORDER BY segment LIMIT 1";
}

/// An id that is used already makes the second statement fail, so that nothing of it has happened.
Result<std::optional<StockAnswer>> Deduction::deduct(const Where& place) {
  const std::string quantity = std::to_string(request_->quantity);
  std::string update = "UPDATE " + fitting(place);
  update.insert(update.find(" WHERE"), " SET version=version+1,quantity=quantity-" + quantity + "," +
                                           (owner_ ? "reserved=reserved+" : "taken=taken+") + quantity +
                                           "+0*LAST_INSERT_ID(segment)");
  const std::string record = "CONCAT('" + std::string(owner_ ? "R " : "T ") + quantity +
                             " ',LAST_INSERT_ID(),':" + quantity + " " + (owner_ ? owner_->text() : "-") + " 0')";
  transaction_.write("DO LAST_INSERT_ID(" +
                     (lock_.empty() ? kNoRow : "IF(" + lock_ + "=1," + kNoRow + "," + kNotLocked + ")") + ")");
  transaction_.write(update);
  transaction_.write(insert_request(key_, request_->id, record) + if_any());
  const std::string last = "SELECT LAST_INSERT_ID()";
  if (!owner_ || !request_->only_segment) transaction_.write(last);
  if (owner_) transaction_.write(insert_reservation(key_, request_->id, ttl_) + if_any());
  const auto rows = transaction_.commit(owner_ ? last : "");
  if (!rows) return rows.error();
  return answer(*rows);
}

/// The segment, unless it was given, and the token of a reservation.
Result<std::optional<StockAnswer>> Deduction::answer(const std::vector<Row>& rows) const {
  const bool sound = rows.size() == (owner_ && !request_->only_segment ? 2U : 1U) && rows.front().size() == 1 &&
                     rows.back().size() == 1;
  if (!sound) return Error{ErrorCode::kUnavailable, "the server answered what dlock does not understand"};
  const std::string segment = rows.front().front().value_or("");
  if (segment == kNoRow) return std::optional<StockAnswer>();
  if (segment == kNotLocked) return std::optional<StockAnswer>(StockInProgress{});
  const int from = owner_ && request_->only_segment ? *request_->only_segment
                                                    : static_cast<int>(leading_number<std::uint64_t>(segment));
  StockTaken taken{{{from, request_->quantity}}, {}, false};
  if (owner_) taken.token = FencingToken(leading_number<std::uint64_t>(rows.back().front().value_or("")));
  return std::optional<StockAnswer>(std::move(taken));
}

}  // namespace dlock::mysql
