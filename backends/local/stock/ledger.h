// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/stock/sqlite.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::local {

/// The stocks of this machine, in stock.db of the lock directory. Opens the file in the first transaction; only one
/// that may make a stock makes it. Writers are alone, so nothing needs locks of its own.
class Ledger final : public StockLedger {
 public:
  Ledger(LocalContext context, bool durable) : context_(std::move(context)), durable_(durable) {}

  const std::string& store() const override { return context_.settings.store; }
  Result<void> begin(Access access, const CallLimit& limit) override;
  Result<void> commit() override { return database_ ? database_->commit() : Result<void>(); }
  void rollback() override {
    if (database_) database_->rollback();
  }
  bool failed() const override { return database_ && database_->failed(); }

  bool find(const LockName& name) override;
  const std::string& maker() const override { return maker_; }
  int segments() const override { return segments_; }
  std::vector<LockName> names() override;
  void create(const LockName& name, Quantity quantity, int segments, const Owner& maker) override;
  void drop() override;

  Result<std::vector<Quantity>> quantities() override;
  Quantity available() const override { return available_; }
  Quantity reserved() const override { return reserved_; }
  Quantity put_in() const override { return put_in_; }
  Result<StockState> state(const LockName& name) override;
  void move(int segment, const Change& change) override;
  void count_added(Quantity quantity) override;

  Result<std::optional<RequestRecord>> record(const LockName& id) override;
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) override;
  FencingToken token(const LockName& id) override;
  void give_back(const LockName& id, const RequestRecord& record) override;
  /// Also those that an earlier boot of the machine left.
  Result<void> sweep(bool needed) override;
  Result<void> level(int segments) override;

 private:
  Result<void> open(bool make);
  Result<void> make_tables();
  Result<void> move_home(int segments);
  /// Those that end until then, and all of an earlier boot.
  std::vector<std::pair<LockName, std::string>> reservations(std::int64_t until);
  Clock& clock() const { return context_.runtime.clock; }

  LocalContext context_;
  const bool durable_;
  std::optional<Database> database_;
  std::string boot_;
  std::int64_t key_ = 0;
  std::string name_;
  std::string maker_;
  int segments_ = 0;
  Quantity available_ = 0;
  Quantity reserved_ = 0;
  Quantity put_in_ = 0;
};

}  // namespace dlock::local
