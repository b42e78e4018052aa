// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/stock/segment_locks.h"
#include "backends/zookeeper/stock/stock_gate.h"
#include "backends/zookeeper/stock/stock_nodes.h"
#include "backends/zookeeper/stock/stock_session.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::zookeeper {

using NodeChange = Change;  ///< beside StockLedger::Change
using NodeChanges = std::vector<NodeChange>;

/// Additions of the segments' locks to a transaction: changes, and a directory to list right after that.
struct Errand {
  NodeChanges changes = {};
  std::string then_list = {};                 ///< empty: none
  std::vector<Answer::Changed> changed = {};  ///< the results of `changes`, once they are made
  std::vector<std::string> listed = {};       ///< the children of `then_list`
  std::int64_t zxid = 0;                      ///< of the transaction that made them
  TimePoint sent{};                           ///< before it was sent
};

/// The stocks of an ensemble. A transaction reads what it needs, each node once, collects changes, and commits them all
/// or none, at the versions that it has read. One without changes reads everything again after a sync, and holds if
/// nothing is different: so it was the state at one moment, and not an old one. A step that loses a race, or an answer,
/// begins again until the limit; after several lost races under the gate (StockGate). Single-threaded.
class StockTree final : public StockLedger {
 public:
  StockTree(Ensemble ensemble, const Runtime& runtime) : session_(std::move(ensemble), runtime) {}

  const std::string& store() const override { return session_.store(); }
  Result<void> begin(Access access, const CallLimit& limit) override;
  Result<void> commit() override;
  Result<void> conclude() override;
  void rollback() override { (void)conclude(); }
  bool failed() const override { return error_.has_value(); }
  bool is_worth_repeating() const override { return again_; }
  int lost_races() const override { return races_; }
  /// All must be of different requests, so that after a lost answer the notes show the result of each; and at most one
  /// may be a reservation, because its token is the transaction's.
  std::size_t together(std::span<const StockStep> steps) const override;

  bool find(const LockName& name) override;
  const std::string& maker() const override { return gate_.head().maker; }
  int segments() const override { return gate_.head().segments; }
  std::vector<LockName> names() override;
  void create(const LockName& name, Quantity quantity, int segments, const Owner& maker) override;
  void drop() override;

  Result<std::vector<Quantity>> quantities() override;
  Quantity available() const override { return sum_.quantity; }
  Quantity reserved() const override { return sum_.reserved; }
  Quantity put_in() const override { return gate_.head().created + sum_.added; }
  Result<std::optional<Quantity>> quantity(int segment) override;
  Result<StockState> state(const LockName& name) override;
  void move(int segment, const Change& change) override;
  /// All are counted by the first segment, so that of two at once one loses the race.
  void count_added(Quantity quantity) override { moves_[0].added += quantity; }

  void look_ahead(const std::vector<LockName>& ids) override;
  void look_at(const LockName& id, int segment) override;
  Result<std::optional<RequestRecord>> record(const LockName& id) override;
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) override;
  /// Of the last commit: the microseconds since 1970 at which the stock was made, plus a number that grows with each
  /// transaction of the ensemble.
  std::optional<FencingToken> committed_token() const override { return token_; }
  FencingToken token(const LockName& /*id*/) override { return {}; }
  void give_back(const LockName& id, const RequestRecord& record) override;
  Result<void> sweep(bool needed) override;
  /// Reservations keep the parts that they have; what is reserved is counted at the homes of these.
  Result<void> level(int segments) override;

  /// Other recipes have locks of several steps, or none in a queue: those for everybody serve.
  SegmentLocks* segment_locks() override {
    return session_.ensemble().recipe() == Recipe::kCurator ? &segment_locks_ : nullptr;
  }

  // For the locks of segments.
  /// Reads, in one go, those nodes that this transaction has not read yet; `freshly`: after a sync.
  Result<void> look(const std::vector<std::string>& paths, bool freshly = false);
  const Answer& seen(const std::string& path) const { return seen_.at(path); }
  void forget(const std::string& path) { seen_.erase(path); }
  /// A transaction without changes ends on what was read, even if that is old.
  void believe() { believes_ = true; }
  /// An earlier try has sent a transaction whose answer was lost: it may have been carried out.
  bool is_unsure() const { return unsure_; }
  Errand& errand() { return errand_; }
  std::string request_node(const LockName& id) const { return request_path(life(), id); }
  std::string segment_node(int segment) const { return segment_path(life(), segment); }

 private:
  /// A request: as it was read, and as it is to be.
  struct Draft {
    std::optional<StockNote> before = {};
    std::optional<StockNote> now = {};
    bool changed = false;
    int version = 0;
    std::int64_t mtime = 0;
    static bool is_open(const std::optional<StockNote>& note) {
      return note && note->record.state == RequestRecord::State::kReserved;
    }
  };

  Result<Draft*> draft(const LockName& id);
  Result<StockCounts> counts(int segment);
  Result<void> look_everywhere();
  Result<std::vector<LockName>> reservations();
  Result<bool> is_over(const Draft& reservation);
  Result<std::int64_t> leaders_time();
  void free_parts(Draft& reservation);

  // How a transaction ends.
  Result<void> verify();
  Result<void> raced();
  Result<void> repeat(Error why, TimePoint pause_until);
  Result<void> end_with(Error error);
  Result<void> write(const NodeChanges& changes);
  void written(const NodeChanges& changes, const std::vector<Answer>& answers);
  Result<void> refused(const NodeChanges& changes, const Answer& answer);
  Result<bool> make_room(const NodeChanges& changes);
  Result<NodeChanges> gathered();
  void add_requests(NodeChanges& changes) const;
  Result<void> add_segments(NodeChanges& changes);
  void add_levelled(NodeChanges& changes) const;

  std::string life() const { return life_path(session_.root(), gate_.head().life); }
  Error broken(const std::string& what) const { return broken_stock(*name_, what); }

  StockSession session_;
  StockGate gate_{session_};
  SegmentSessionLocks segment_locks_{session_, *this};
  std::optional<std::pair<LockName, int>> aside_;  ///< the last reservation, and the segment of its first part

  // Of a call, which may have several tries.
  CallLimit limit_{};
  int patience_ = 0;  ///< lost races after which the gate is closed
  int races_ = 0;
  bool again_ = false;
  bool unsure_ = false;

  // Of a transaction.
  std::optional<Error> error_;
  std::optional<LockName> name_;
  std::map<std::string, Answer> seen_;  ///< by path
  std::map<LockName, Draft> drafts_;
  std::map<int, StockCounts> moves_;
  StockCounts sum_;  ///< of all segments, at the last look
  std::optional<std::vector<StockCounts>> levelled_;
  NodeChanges made_;            ///< by create()
  std::string dropped_;         ///< the data of the stock that drop() ends
  bool relies_on_all_ = false;  ///< an answer depends on all segments at one moment
  bool believes_ = false;
  bool swept_ = false;
  bool more_to_sweep_ = false;
  bool ends_ = false;  ///< a reservation, by its owner's word
  std::optional<FencingToken> token_;
  Errand errand_;
};

}  // namespace dlock::zookeeper
