// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/stock_deduction.h"

#include <utility>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/stock/request_record.h"

namespace dlock::mysql {
namespace {

/// How often a race is lost before all segments are locked.
constexpr int kMostRaces = 8;

}  // namespace

Result<std::optional<StockAnswer>> Deduction::run(const StockRequest& request, const Owner* owner, Duration ttl,
                                                  int start, const CallLimit& limit) {
  if (!first_.lock.empty() && way_ != StockWay::kGuarded) return std::optional<StockAnswer>();
  request_ = &request;
  owner_ = owner;
  ttl_ = ttl;
  const bool at_once = way_ == StockWay::kGuarded;
  for (int races = 0; races < kMostRaces; ++races) {
    const int first = request.only_segment.value_or((start + races) % segments_);
    auto tried = at_once ? deduct_at({first, ""}, limit) : look_and_deduct(first, limit);
    if (at_once && tried && !*tried && !request.only_segment) tried = look_and_deduct(first, limit);
    const bool taken_by_others = !tried && transaction_.is_worth_repeating();
    if (taken_by_others && transaction_.failure_code() == kDuplicateKey) return std::optional<StockAnswer>();
    if (taken_by_others) continue;
    if (!tried || *tried || way_ != StockWay::kOptimistic) return tried;
  }
  return std::optional<StockAnswer>();
}

Result<std::optional<StockAnswer>> Deduction::deduct_at(const Place& place, const CallLimit& limit) {
  if (auto begun = transaction_.begin(limit); !begun) return begun.error();
  return deduct(place);
}

Result<std::optional<StockAnswer>> Deduction::look_and_deduct(int start, const CallLimit& limit) {
  if (auto begun = transaction_.begin(limit); !begun) return begun.error();
  const auto place = choose(start);
  if (place) return deduct(*place);
  if (transaction_.failed()) return transaction_.commit().error();
  transaction_.rollback();
  return std::optional<StockAnswer>();
}

/// Rows that another has locked are passed by; otherwise it is a look without any lock.
std::optional<Deduction::Place> Deduction::choose(int start) {
  const std::string first = std::to_string(start);
  std::vector<std::string> where{"segment>=" + first, "segment<" + first};
  if (request_->only_segment) where = {"segment=" + first};
  for (const std::string& some : where) {
    const auto rows = transaction_.read(
        "SELECT segment,version FROM " + std::string(kSegmentTable) + " WHERE stock=" + key_ + " AND " + some +
        " AND quantity>=" + std::to_string(request_->quantity) + " ORDER BY segment LIMIT 1" +
        (way_ == StockWay::kPessimistic ? " FOR UPDATE SKIP LOCKED" : ""));
    if (rows.empty() || rows.front().size() != 2) continue;
    Place place{static_cast<int>(number_of(rows.front(), 0)), {}};
    if (way_ == StockWay::kOptimistic) place.condition = " AND version=" + text_of(rows.front(), 1);
    return place;
  }
  return std::nullopt;
}

/// One batch, of which each statement fails unless the one before has done its work: a request is written only after
/// the row that has left its mark, and an id that is used already is refused. So nothing has to be asked in between,
/// and a server that goes on without us does all of it or nothing. (By ROW_COUNT() it would not: that is -1 for clients
/// that have died.)
Result<std::optional<StockAnswer>> Deduction::deduct(const Place& place) {
  const std::string quantity = std::to_string(request_->quantity);
  const std::string segment = std::to_string(place.segment);
  const std::string mark = transaction_.new_mark();
  std::string condition = place.condition;
  if (!first_.lock.empty()) {
    const std::string locked = transaction_.new_mark();
    transaction_.write("DO LAST_INSERT_ID(IF(" + first_.lock + "=1," + locked + ",0))," + first_.afterwards);
    condition += " AND LAST_INSERT_ID()=" + locked;
  }
  transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1,quantity=quantity-" + quantity +
                     "," + (owner_ ? "reserved=reserved+" : "taken=taken+") + quantity + "+0*LAST_INSERT_ID(" + mark +
                     ") WHERE stock=" + key_ + " AND segment=" + segment + " AND quantity>=" + quantity + condition);
  const StockParts parts{{place.segment, request_->quantity}};
  const RequestRecord record{owner_ ? RequestRecord::State::kReserved : RequestRecord::State::kTaken,
                             request_->quantity, parts, owner_ ? owner_->text() : std::string(), 0};
  const std::string id = literal(request_->id.text());
  transaction_.write("INSERT INTO " + std::string(kRequestTable) + "(stock,id,record) VALUES(" + key_ +
                     ",IF(LAST_INSERT_ID()=" + mark + "," + id + ",NULL)," + literal(record_text(record)) + ")");
  if (owner_) {
    transaction_.write("INSERT INTO " + std::string(kReservationTable) + "(stock,id,expires) VALUES(" + key_ + "," +
                       id + "," + end_after(ttl_) + ")");
  }
  const auto rows = transaction_.commit_and_tell(owner_ ? "SELECT LAST_INSERT_ID()" : "");
  if (!rows && transaction_.failure_code() == kNullValue) return std::optional<StockAnswer>();
  if (!rows) return rows.error();
  StockTaken taken{parts, {}, false};
  if (owner_ && rows->size() != 1)
    return Error{ErrorCode::kUnavailable, "the server answered what dlock does not understand"};
  if (owner_) taken.token = FencingToken(leading_number<std::uint64_t>(text_of(rows->front(), 0)));
  return std::optional<StockAnswer>(std::move(taken));
}

}  // namespace dlock::mysql
