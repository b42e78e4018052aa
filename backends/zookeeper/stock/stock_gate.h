// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/stock/stock_nodes.h"
#include "backends/zookeeper/stock/stock_session.h"

namespace dlock::zookeeper {

/// The head of a stock, as it was read, and the gate in it. A call that has lost several races closes the gate: all
/// other clients then wait until it has written, or, in case its process is gone, for a tenth of a second at least. The
/// versions alone keep the books right; the gate prevents starvation. Single-threaded.
class StockGate {
 public:
  explicit StockGate(StockSession& session) : session_(session) {}

  /// A new call, which has closed no gate.
  void begin() { ours_.clear(); }
  /// Finds the head of `name`, unless it is known from before: waits while others keep the gate closed, and with
  /// `close` closes it. False: there is no such stock. Misconfigured if its head makes no sense.
  Result<bool> find(const LockName& name, bool close, const CallLimit& limit);
  /// The server's data about the head when it was read.
  const Answer& seen() const { return seen_; }
  void forget() { known_.reset(); }

  const std::string& path() const { return path_; }
  const StockHead& head() const { return *known_; }
  /// The microseconds since 1970 at which the stock was made, to be added to the number of a transaction.
  std::int64_t first_token() const { return (seen_.stat.ctime + 1) * 1000 - seen_.stat.czxid; }

  bool is_ours() const { return known_ && !ours_.empty() && known_->gate == ours_; }
  /// Opens the gate, if it is ours.
  void leave();
  /// First changes of a transaction on the stock: it checks the head as it was read, or opens our gate.
  std::vector<Change> beginning() const;

 private:
  Result<void> read(const CallLimit& limit);
  Result<void> wait(const CallLimit& limit);
  Result<void> close(const CallLimit& limit);
  std::vector<Change> with_gate(const std::string& gate) const;

  StockSession& session_;
  std::string path_;
  std::optional<StockHead> known_;
  Answer seen_;
  std::string ours_;  ///< the name of our gate
};

}  // namespace dlock::zookeeper
