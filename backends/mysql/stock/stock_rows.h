// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/mysql/connection/settings.h"
#include "backends/mysql/stock/named_segments.h"
#include "backends/mysql/stock/stock_draft.h"
#include "backends/mysql/stock/transaction.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::mysql {

/// The stocks of a database. Rows are locked in this order, so that transactions seldom meet from two sides: the stock,
/// a request, segments by their number, reservations. Who changes segments alone (deduct_at_once) locks no stock: while
/// all its segments are locked, and they are by who changes their number, nobody can.
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
  Result<StockState> state(const LockName& name) override;
  void move(int segment, const Change& change) override { draft_.move(segment, change); }
  void count_added(Quantity quantity) override;

  void look_ahead(const std::vector<LockName>& ids) override { draft_.look_ahead(ids); }
  Result<std::optional<RequestRecord>> record(const LockName& id) override;
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) override;
  FencingToken token(const LockName& id) override { return draft_.token(id); }
  void give_back(const LockName& id, const RequestRecord& record) override;
  Result<void> sweep() override;
  Result<void> level(int segments) override;

  Result<std::optional<StockAnswer>> deduct_at_once(const StockRequest& request, const Owner* owner, Duration ttl,
                                                    int start, const CallLimit& limit) override;
  Result<std::optional<StockState>> state_at_once(const LockName& name, const CallLimit& limit) override;
  /// Of what was reserved at once here, and was not moved since.
  Result<bool> confirm_at_once(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;

  /// Unless the URL wants locks of another strategy than these: a named lock is a session's, and serves for a lease.
  SegmentLocks* segment_locks() override;

 private:
  /// Makes `name` the stock that was found last, by an unlocked look: what is wrong with it shows later. False: there
  /// is none.
  Result<bool> know(const LockName& name, const CallLimit& limit);
  Result<std::optional<NamedSegments::StockKey>> find_key(const LockName& name, const CallLimit& limit);
  Result<std::optional<StockAnswer>> deduct_behind(LockFirst first, const StockRequest& request, const Owner* owner,
                                                   Duration ttl, int start, const CallLimit& limit);
  struct Reservation {
    LockName id;
    RequestRecord record;
  };
  void write_sale(const Reservation& made);
  /// Locked, those for which `condition` holds.
  Result<std::vector<Reservation>> reservations(const std::string& condition);
  Result<void> move_home(int segments);
  std::string of_stock(const char* table) const;  ///< "dlock_stock_segment WHERE stock=7"
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
  std::optional<LockName> name_;  ///< what follows is of this stock, as it was found last
  std::string key_;
  std::string maker_;
  int segments_ = 0;
  Quantity created_ = 0;
  Quantity added_ = 0;
  bool overdue_ = false;
  std::optional<Error> unfit_;  ///< why no stock is made in these tables
  Quantity available_ = 0;
  Quantity reserved_ = 0;
  std::optional<Reservation> reserved_at_once_;
  bool has_record_ = false;  ///< of the request that was asked for last
};

}  // namespace dlock::mysql
