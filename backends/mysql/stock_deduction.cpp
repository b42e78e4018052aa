// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock_deduction.h"

#include <chrono>

#include "backends/mysql/schema.h"
#include "backends/mysql/server_errors.h"
#include "backends/mysql/sql_text.h"
#include "lib/stock/request_record.h"

namespace dlock::mysql {
namespace {

/// How often a race is lost before all segments are locked.
constexpr int kMostRaces = 8;

/// What follows an UPDATE or INSERT ... happens if that one changed one row.
constexpr char kIfChanged[] = " FROM DUAL WHERE ROW_COUNT()=1";

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
         " AND quantity>=" + std::to_string(request_->quantity) + " ORDER BY segment LIMIT 1";
}

/// The row that is changed names itself by LAST_INSERT_ID(). An id that is used already makes the second statement
/// fail, so that nothing of it has happened.
Result<std::optional<StockAnswer>> Deduction::deduct(const Where& place) {
  const std::string quantity = std::to_string(request_->quantity);
  std::string update = "UPDATE " + fitting(place);
  update.insert(update.find(" WHERE"), " SET version=version+1,quantity=quantity-" + quantity + "," +
                                           (owner_ ? "reserved=reserved+" : "taken=taken+") + quantity +
                                           "+0*LAST_INSERT_ID(segment)");
  transaction_.write(update);
  const std::string state = owner_ ? "R " : "T ";
  const std::string owner = owner_ ? owner_->text() : "-";
  transaction_.write(
      insert_request(key_, request_->id,
                     "CONCAT('" + state + quantity + " ',LAST_INSERT_ID(),':" + quantity + " " + owner + " 0')") +
      kIfChanged);
  std::string parts = "LAST_INSERT_ID()";
  if (owner_) {
    transaction_.write(insert_reservation(key_, request_->id, ttl_) + kIfChanged);
    parts = "(SELECT record FROM " + std::string(kRequestTable) + " WHERE stock=" + key_ +
            " AND id=" + literal(request_->id.text()) + ")";
  }
  const auto rows = transaction_.commit("SELECT ROW_COUNT(),LAST_INSERT_ID()," + parts);
  if (!rows) return rows.error();
  return answer(*rows);
}

Result<std::optional<StockAnswer>> Deduction::answer(const std::vector<Row>& rows) const {
  const bool sound = rows.size() == 1 && rows[0].size() == 3 && rows[0][0] && rows[0][1];
  if (!sound) return Error{ErrorCode::kUnavailable, "the server answered what dlock does not understand"};
  if (*rows[0][0] != "1") return std::optional<StockAnswer>();
  const std::uint64_t last = unsigned_number(*rows[0][1]);
  if (!owner_) {
    return std::optional<StockAnswer>(StockTaken{{{static_cast<int>(last), request_->quantity}}, {}, false});
  }
  const auto record = parse_record(rows[0][2].value_or(""));
  if (!record) return Error{ErrorCode::kMisconfigured, record.error().message};
  return std::optional<StockAnswer>(StockTaken{record->parts, FencingToken(last), false});
}

}  // namespace dlock::mysql
