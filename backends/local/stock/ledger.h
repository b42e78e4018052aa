// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/local/stock/sqlite.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"
#include "lib/stock/request_record.h"
#include "lib/stock/stock.h"

namespace dlock::local {

/// The rows of all stocks of this machine, inside one transaction at a time: begin(), find(), the rest, commit(). Knows
/// how they lie in the file; what is to be done with them is decided elsewhere. Single-threaded.
class Ledger {
 public:
  /// Makes the tables when they are missing. REQUIRES: the file exists, perhaps empty.
  static Result<Ledger> open(const std::string& path, bool durable, Clock& clock);

  Result<void> begin(const CallLimit& limit) { return database_.begin(true, limit); }
  Result<void> commit() { return database_.commit(); }
  void rollback() { database_.rollback(); }
  bool failed() const { return database_.failed(); }

  /// Makes `name` the stock that the other calls mean. False if there is none.
  bool find(const LockName& name);
  const std::string& maker() const { return maker_; }
  int segments() const { return segments_; }
  std::vector<LockName> names();
  void create(const LockName& name, Quantity quantity, int segments, const Owner& maker);
  void drop();

  /// What each segment has. Misconfigured if a segment is missing. available(), reserved(): the sums of that look.
  Result<std::vector<Quantity>> quantities();
  Quantity available() const { return available_; }
  Quantity reserved() const { return reserved_; }
  Result<StockState> state(const LockName& name);

  /// What is added to the counters of a segment.
  struct Change {
    Quantity quantity = 0;
    Quantity reserved = 0;
    Quantity taken = 0;
    Quantity refunded = 0;
  };
  void move(int segment, const Change& change);
  void count_added(Quantity quantity);
  FencingToken next_token();

  Result<std::optional<RequestRecord>> record(const LockName& id);
  /// With `ttl`: a reservation, until then.
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl = {});
  /// Ends a reservation: its parts come back, the id is forgotten.
  void give_back(const LockName& id, const RequestRecord& record);
  /// Gives back the reservations whose time is over, or that an earlier boot of the machine left.
  Result<void> sweep();

  /// Levels what can be taken over `segments` segments; what is reserved stays with its segment, or moves to the
  /// home_of() of one that is no more.
  Result<void> level(int segments);

 private:
  Ledger(Database database, std::string boot, Clock& clock)
      : database_(std::move(database)), boot_(std::move(boot)), clock_(&clock) {}
  Result<void> make_tables();
  Result<void> move_home(int segments);
  /// Those that end until then, and all of an earlier boot.
  std::vector<std::pair<LockName, std::string>> reservations(std::int64_t until);

  Database database_;
  std::string boot_;
  Clock* clock_;
  std::int64_t key_ = 0;
  std::string name_;
  std::string maker_;
  int segments_ = 0;
  Quantity available_ = 0;
  Quantity reserved_ = 0;
};

}  // namespace dlock::local
