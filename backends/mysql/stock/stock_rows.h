// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/mysql/connection/settings.h"
#include "backends/mysql/stock/named_segments.h"
#include "backends/mysql/stock/stock_draft.h"
#include "backends/mysql/stock/transaction.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::mysql {

/// The stocks of a database. Rows are locked in this order, so that deadlocks are rare: the stock, a request, segments
/// by number, reservations. A transaction that changes one segment only (deduct_at_once) does not lock the stock; one
/// that changes the number of segments locks all of them, and so excludes it. Single-threaded.
class StockRows final : public StockLedger {
 public:
  StockRows(Settings settings, const Dial& dial, const Runtime& runtime);

  const std::string& store() const override { return settings_.store; }
  Result<void> begin(Access access, const CallLimit& limit) override;
  Result<void> commit() override;
  void rollback() override { transaction_.rollback(); }
  bool failed() const override { return transaction_.failed(); }
  bool is_worth_repeating() const override { return transaction_.is_worth_repeating(); }

  bool find(const LockName& name) override;
  const std::string& maker() const override { return maker_; }
  int segments() const override { return segments_; }
  std::vector<LockName> names() override;
  void create(const LockName& name, Quantity quantity, int segments, const Owner& maker) override;
  void drop() override;

  Result<std::vector<Quantity>> quantities() override;
  Quantity available() const override { return available_; }
  Quantity reserved() const override { return reserved_; }
  Quantity put_in() const override { return created_ + added_; }
  Result<StockState> state(const LockName& name) override;
  void move(int segment, const Change& change) override { draft_.move(segment, change); }
  void count_added(Quantity quantity) override;

  void look_ahead(const std::vector<LockName>& ids) override { draft_.look_ahead(ids); }
  Result<std::optional<RequestRecord>> record(const LockName& id) override;
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) override;
  FencingToken token(const LockName& id) override { return draft_.token(id); }
  void give_back(const LockName& id, const RequestRecord& record) override;
  Result<void> sweep(bool needed) override;
  Result<void> level(int segments) override;

  Result<std::optional<StockAnswer>> deduct_at_once(const StockRequest& request, const Owner* owner, Duration ttl,
                                                    int start, const CallLimit& limit) override;
  Result<std::optional<StockState>> state_at_once(const LockName& name, const CallLimit& limit) override;
  /// For a reservation that this object has made by deduct_at_once(), if a resize has not moved it since.
  Result<bool> confirm_at_once(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;

  /// Named locks, for strategy=lease and strategy=session. nullptr: the URL names another strategy, or the server has
  /// no named locks.
  SegmentLocks* segment_locks() override;

 private:
  /// Looks `name` up without locking it, and makes it the stock that the members below describe; a change since then is
  /// found later. False: there is no such stock.
  Result<bool> know(const LockName& name, const CallLimit& limit);
  Result<std::optional<NamedSegments::StockKey>> find_key(const LockName& name, const CallLimit& limit);
  Result<std::optional<StockAnswer>> deduct_behind(LockFirst first, const StockRequest& request, const Owner* owner,
                                                   Duration ttl, int start, const CallLimit& limit);
  struct Reservation {
    LockName id;
    RequestRecord record;
  };
  void write_sale(const Reservation& made);
  /// Locks and returns the reservations for which `condition` holds.
  Result<std::vector<Reservation>> reservations(const std::string& condition);
  Result<void> move_home(int segments);
  Error commit_error(Error error) const;
  Error missing(std::size_t segment) const;
  std::string find_query(const LockName& name) const;
  bool read_stock(const LockName& name, const std::vector<Row>& rows);
  bool tables_are_fit();
  std::string state_query() const;
  Result<StockState> read_state(const std::vector<Row>& rows) const;

  const Settings settings_;
  Transaction transaction_;
  StockDraft draft_;
  NamedSegments segment_locks_;
  Access access_ = Access::kShared;
  std::optional<LockName> name_;  ///< the stock that was found last; the members that follow are about it
  std::string key_;
  std::string maker_;
  int segments_ = 0;
  Quantity created_ = 0;
  Quantity added_ = 0;
  bool overdue_ = false;
  std::optional<Error> unfit_;  ///< why no stock can be made in these tables
  Quantity available_ = 0;
  Quantity reserved_ = 0;
  std::optional<Reservation> reserved_at_once_;
  bool has_record_ = false;  ///< whether the request that was looked up last has a record
};

}  // namespace dlock::mysql
