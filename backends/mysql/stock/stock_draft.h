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

/// The segments and requests of one stock during one transaction. Reads each row once, because it is locked then, and
/// collects changes until they have to be sent: one statement for each segment and one for all new requests. So many
/// steps cost as many round trips as one. Errors are those of the transaction (Transaction::failed). Single-threaded.
class StockDraft {
 public:
  /// `transaction` and `key`, which is that of the stock, outlive it.
  StockDraft(Transaction& transaction, const std::string& key) : transaction_(transaction), key_(key) {}

  /// Forgets everything, at the begin of a transaction.
  void begin();

  /// Reads the records of these requests and all segments in one round trip.
  void look_ahead(const std::vector<LockName>& ids);

  /// The record of a request; nullopt: there is none.
  std::optional<std::string> record(const LockName& id);
  /// The segments from 0 on, up to the first that is missing.
  const std::vector<StockSegment>& segments();
  /// The token of the reservation of `id`.
  FencingToken token(const LockName& id);

  /// Adds `change` to a segment.
  void move(int segment, const StockLedger::Change& change);
  /// Adds the record of a new request; with `ttl` it is a reservation.
  void insert(const LockName& id, const std::string& record, std::optional<Duration> ttl);
  /// Replaces the record of a request; without `ttl` a reservation of it ends.
  void rewrite(const LockName& id, const std::string& record, std::optional<Duration> ttl);
  /// Removes the record of a request.
  void forget(const LockName& id);

  /// Sends all changes, and returns the rows of `queries` after them.
  std::vector<Row> read(const std::string& queries);
  /// Hands all changes to the transaction.
  void flush();

  std::string of_stock(const char* table) const;     ///< "dlock_stock_segment WHERE stock=7"
  std::string is_request(const LockName& id) const;  ///< a condition

 private:
  void read_segments(const std::vector<Row>& rows);
  void write_requests();
  void close_reservations();
  std::string segments_query() const;

  Transaction& transaction_;
  const std::string& key_;
  std::map<LockName, std::optional<std::string>> records_;  ///< those that are known
  std::optional<std::vector<StockSegment>> segments_;
  std::map<LockName, FencingToken> tokens_;
  std::set<LockName> untold_;  ///< reservations of this transaction whose tokens were not asked for
  std::map<int, StockLedger::Change> moves_;
  std::string requests_;      ///< rows to be inserted
  std::string reservations_;  ///< rows to be inserted into the reservations, after `requests_`
  std::string behind_;        ///< ";" and a statement about reservations, which go after the segments
};

}  // namespace dlock::mysql
