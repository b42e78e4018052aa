// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/mysql/stock/transaction.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::mysql {

/// The segments and requests of one stock in one transaction: what was read is locked, so it is read once, and changes
/// are kept until they have to be sent, each segment's in one statement and all new requests in one. So many steps cost
/// as many round trips as one. Single-threaded.
class StockDraft {
 public:
  /// `key`: of the stock that the calls mean; both outlive it.
  StockDraft(Transaction& transaction, const std::string& key) : transaction_(transaction), key_(key) {}

  /// A transaction begins: nothing is known.
  void begin();

  /// Reads what is remembered of these requests, and all segments.
  void look_ahead(const std::vector<LockName>& ids);

  /// What is remembered of a request.
  std::optional<std::string> record(const LockName& id);
  /// From 0 on, up to the first that is missing.
  const std::vector<StockSegment>& segments();
  /// Of the reservation of `id`.
  FencingToken token(const LockName& id);

  void move(int segment, const StockLedger::Change& change);
  /// A request of which nothing is remembered, with `ttl` a reservation.
  void insert(const LockName& id, const std::string& record, std::optional<Duration> ttl);
  /// One of which something is; without `ttl` a reservation has ended.
  void rewrite(const LockName& id, const std::string& record, std::optional<Duration> ttl);
  void forget(const LockName& id);

  /// The rows of `queries`, after all changes.
  std::vector<Row> read(const std::string& queries);
  /// Hands all changes to the transaction.
  void flush();

 private:
  void read_segments(const std::vector<Row>& rows);
  void write_requests();
  void close_reservations();
  std::string segments_query() const;
  std::string of_stock(const char* table) const;  ///< "dlock_stock_segment WHERE stock=7"
  std::string is_request(const LockName& id) const;

  Transaction& transaction_;
  const std::string& key_;
  std::map<LockName, std::optional<std::string>> records_;  ///< those that are known
  std::optional<std::vector<StockSegment>> segments_;
  std::map<LockName, FencingToken> tokens_;
  std::set<LockName> untold_;  ///< reservations of this transaction whose tokens were not asked for
  std::map<int, StockLedger::Change> moves_;
  std::string requests_;      ///< rows to be inserted
  std::string reservations_;  ///< the same, behind what is in
  std::string behind_;        ///< ";" and a statement about reservations, which go behind the segments
};

}  // namespace dlock::mysql
