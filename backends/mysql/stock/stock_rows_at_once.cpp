// SPDX-License-Identifier: Apache-2.0
// The short ways of the commonest calls, one batch each.
#include <utility>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/stock/stock_deduction.h"
#include "backends/mysql/stock/stock_rows.h"

namespace dlock::mysql {

Result<bool> StockRows::know(const LockName& name, const CallLimit& limit) {
  if (name_ && *name_ == name) return true;
  if (auto begun = begin(Access::kMake, limit); !begun) return begun.error();
  find(name);
  if (auto done = commit(); !done) return done.error();
  return name_.has_value();
}

Result<std::optional<NamedSegments::StockKey>> StockRows::find_key(const LockName& name, const CallLimit& limit) {
  using Key = NamedSegments::StockKey;
  const auto known = know(name, limit);
  if (!known) return known.error();
  return *known ? std::optional(Key{key_, segments_}) : std::optional<Key>();
}

Result<std::optional<StockAnswer>> StockRows::deduct_at_once(const StockRequest& request, const Owner* owner,
                                                             Duration ttl, int start, const CallLimit& limit) {
  return deduct_behind({}, request, owner, ttl, start, limit);
}

Result<std::optional<StockAnswer>> StockRows::deduct_behind(LockFirst first, const StockRequest& request,
                                                            const Owner* owner, Duration ttl, int start,
                                                            const CallLimit& limit) {
  const auto known = know(request.stock, limit);
  if (!known) return known.error();
  if (!*known) return std::optional<StockAnswer>();
  auto answer = Deduction(transaction_, settings_.stock, key_, segments_, std::move(first))
                    .run(request, owner, ttl, start, limit);
  reserved_at_once_.reset();
  if (const auto* taken = answer && *answer ? std::get_if<StockTaken>(&**answer) : nullptr; taken && owner) {
    RequestRecord record{RequestRecord::State::kReserved, request.quantity, taken->parts, owner->text(), 0};
    reserved_at_once_ = Reservation{request.id, std::move(record)};
  }
  return answer;
}

Result<std::optional<StockState>> StockRows::state_at_once(const LockName& name, const CallLimit& limit) {
  if (!name_ || *name_ != name) return std::optional<StockState>();
  const std::string key = key_;
  if (auto begun = begin(Access::kShared, limit); !begun) return begun.error();
  const auto rows = transaction_.commit(find_query(name) + ";" + state_query());
  if (!rows && transaction_.is_worth_repeating()) return std::optional<StockState>();
  if (!rows) return rows.error();
  if (!read_stock(name, *rows) || key_ != key || overdue_) return std::optional<StockState>();
  auto state = read_state(*rows);
  if (!state) return state.error();
  return std::optional<StockState>(std::move(*state));
}

/// As with a deduction, each row that is changed lets the next one follow: the reservation, as long as it lasts, the
/// request, if it says what was written, the segment. Where one does not, the batch ends before COMMIT.
Result<bool> StockRows::confirm_at_once(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  const auto made = std::exchange(reserved_at_once_, std::nullopt);
  const bool ours =
      made && name_ && *name_ == request.stock && made->id == request.id && made->record.owner == owner.text();
  if (!ours) return false;
  if (auto begun = begin(Access::kShared, limit); !begun) return begun.error();
  if (segment_locks_.hold()) {  // while the command ran; the next one need not wait for our books
    transaction_.write(segment_locks_.release_statement());
    segment_locks_.released();
  }
  write_sale(*made);
  const auto done = transaction_.commit();
  if (!done && (transaction_.is_worth_repeating() || transaction_.failure_code() == kOutOfRange)) return false;
  if (!done) return commit_error(done.error());
  return true;
}

/// The mark of the reservation is left by a column of its row, so that no optimizer leaves it without one. What stops
/// the batch is a number beyond all types, which is an error in every SQL mode (and in DO it would be none).
void StockRows::write_sale(const Reservation& made) {
  RequestRecord sold = made.record;
  sold.state = RequestRecord::State::kTaken;
  const std::string ended = transaction_.new_mark();
  const std::string rewritten = transaction_.new_mark();
  const std::string if_rewritten = "LAST_INSERT_ID()=" + rewritten;
  const std::string of_it = " WHERE " + draft_.is_request(made.id);
  transaction_.write("DELETE FROM " + std::string(kReservationTable) + of_it +
                     " AND IF(expires>UTC_TIMESTAMP(6),LAST_INSERT_ID(" + ended + "+0*token),0)");
  transaction_.write("UPDATE " + std::string(kRequestTable) + " SET record=IF(LAST_INSERT_ID(" + rewritten + ")," +
                     literal(record_text(sold)) + ",record)" + of_it +
                     " AND record=" + literal(record_text(made.record)) + " AND LAST_INSERT_ID()=" + ended);
  for (const StockPart& part : sold.parts) {
    const std::string quantity = std::to_string(part.quantity);
    transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1,reserved=reserved-" + quantity +
                       ",taken=taken+" + quantity + " WHERE stock=" + key_ +
                       " AND segment=" + std::to_string(part.segment) + " AND " + if_rewritten);
  }
  transaction_.write("SET @dlock_sold=IF(" + if_rewritten + ",1,~0+CONNECTION_ID())");
}

}  // namespace dlock::mysql
