// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/stock/stock_nodes.h"
#include "backends/zookeeper/stock/stock_session.h"

namespace dlock::zookeeper {

/// A StockHead as it was read.
struct SeenHead {
  StockHead head;
  int version = 0;
  std::int64_t first_token = 0;  ///< to which the number of a transaction is added
};

/// A request as it was read.
struct SeenNote {
  LockName id;
  StockNote note;
  int version = 0;
  std::int64_t mtime = 0;

  bool is_of(const Owner& owner) const { return note.record.owner == owner.text(); }
  bool is_reserved() const { return note.record.state == RequestRecord::State::kReserved; }
};

/// What a decision came to.
enum class Step {
  kConclude,       ///< there is nothing to change
  kAsSeen,         ///< there is nothing to change, and it does not matter if what was read was old
  kWrite,          ///< the changes are to be made; then it is done
  kWriteThenRead,  ///< they are to be made, and then it has to read again
  kReadAgain,      ///< what was read was changing meanwhile
};

/// What somebody else wants of a call: read together with a request, changed by the same transaction, and listed right
/// after it. Each try begins with no changes.
struct Errand {
  std::vector<Request> reads = {};
  std::vector<Answer> seen = {};  ///< of `reads`
  std::vector<Change> changes = {};
  std::string then_list = {};                 ///< a directory; empty: none
  std::vector<Answer::Changed> changed = {};  ///< of `changes`, once they are made
  std::vector<std::string> listed = {};
  std::int64_t zxid = 0;  ///< of the transaction that made them
  TimePoint sent{};       ///< before it was sent
};

/// One call on one stock: reads, decides, writes all or nothing against the versions that it has seen, and begins again
/// when somebody else was faster. A server may be behind: without a write only what was read after a sync is concluded
/// from. Who has lost several times closes the gate: everybody else waits then until this call has written, or for a
/// tenth of a second, should its process be gone. What keeps the books right is the versions; the gate keeps anybody
/// from starving.
class StockCall {
 public:
  using Decision = std::function<Result<Step>(StockCall&)>;

  /// `known`: the head that was seen last, from call to call.
  StockCall(StockSession& session, std::optional<SeenHead>& known, const LockName& name, const CallLimit& limit)
      : session_(session), known_(known), name_(name), limit_(limit), path_(stock_path(session.root(), name)) {}

  /// Until `decide` has concluded, has written, or has failed. After so many lost tries it closes the gate.
  /// Unavailable at the end of the limit. Misconfigured, and is_missing(), if there is no such stock.
  Result<void> run(int gate_after, const Decision& decide);
  bool is_missing() const { return missing_; }
  /// The answer to what an earlier try has written was lost.
  bool is_unsure() const { return unsure_; }
  /// For a decision that seldom writes: its first look is after a sync already.
  StockCall& freshly() {
    is_fresh_ = true;
    return *this;
  }

  /// `errand` outlives the call.
  StockCall& with(Errand& errand) {
    errand_ = &errand;
    return *this;
  }

  // The rest is for `decide`, which hands on their errors.
  const StockHead& head() const { return known_->head; }
  int segments() const { return known_->head.segments; }
  int tries() const { return tries_; }
  /// Nobody else changes anything.
  bool has_gate() const { return known_ && !gate_.empty() && known_->head.gate == gate_; }

  /// What is remembered of the request. In the same go reads a segment, if that is not negative.
  Result<std::optional<SeenNote>> request(const LockName& id, int segment = -1);
  /// The request as it counts now: a reservation whose time is over does not, and is given back (*given).
  Result<std::optional<SeenNote>> request_now(const LockName& id, bool* given, int segment = -1);
  /// Reads all segments and these in one go.
  Result<std::vector<Answer>> load_with(const std::vector<Request>& requests);
  /// Reads the homes of these parts, as far as they were not read yet.
  Result<void> load(const StockParts& parts);
  /// Reads all segments, and how many reservations there are; `steady`: all of it was so at one moment.
  Result<void> load_all(bool* steady = nullptr);
  /// Reads these requests and, steadily, all segments. Whatever this try asks for afterwards it is told from there, as
  /// it has been changed since.
  Result<void> load_group(const std::vector<LockName>& ids);
  const StockCounts& counts(int segment) const { return pages_.at(segment).counts; }
  std::vector<Quantity> quantities() const;  ///< REQUIRES: load_all()
  int open() const { return open_; }         ///< REQUIRES: load_all(true)

  /// All reservations; those that come or go meanwhile may be missing.
  Result<std::vector<SeenNote>> reservations();
  /// Its time is over, by the leader's clock.
  Result<bool> is_over(const SeenNote& reservation);
  /// Those whose time is over come back. False: there are none (said once in a try; then it looks no more).
  Result<bool> sweep();

  /// Misconfigured if a segment would have less than nothing, or more than can be counted. REQUIRES: it is read.
  Result<void> move(int segment, const StockCounts& more);
  /// The same at the home of each part, for as many items as it has.
  Result<void> move_parts(const StockParts& parts, const StockCounts& each);
  /// In place of what is remembered so far.
  void remember(const LockName& id, const StockNote& note, const std::optional<SeenNote>& before);
  void open_reservation(const LockName& id);
  void close_reservation(const LockName& id);
  /// Ends a reservation: its parts come back, the id is forgotten.
  Result<void> give_back(const SeenNote& reservation);
  /// Other segments than there are. REQUIRES: load_all()
  void replace(const std::vector<StockCounts>& segments);
  /// The stock is gone, and its segments with it.
  void remove();

  /// Of what was written last: grows with each transaction of the ensemble, from the time on, in microseconds, at which
  /// the stock was made.
  FencingToken token() const { return FencingToken(static_cast<std::uint64_t>(token_)); }

 private:
  /// What a group of requests has read.
  struct Group {
    std::map<std::string, std::optional<SeenNote>> notes;
    bool steady = false;
  };
  struct Page {
    StockCounts counts;
    int version = 0;
    std::int64_t mzxid = 0;
    bool changed = false;
  };

  Result<bool> attempt(int gate_after, const Decision& decide);
  Result<void> find_head(int gate_after);
  Result<void> read_head();
  Result<void> wait_at_gate();
  Result<void> close_gate();
  /// Whether nobody has opened it, who took us for gone, since it was found closed. REQUIRES: has_gate()
  bool kept_gate();
  void leave_gate();
  Change head_with_gate(const std::string& gate) const;

  /// What became of a transaction.
  enum class Written { kDone, kLostRace, kMadeRoom };
  Result<Written> write();
  Result<Written> refused(const std::vector<Change>& changes, const Answer& answer);
  Result<bool> make_room(const std::vector<Change>& changes);
  std::vector<Change> gathered() const;
  Result<void> pause_after_race();
  Result<Page> page_of(int segment, const Answer& answer) const;
  Result<std::optional<SeenNote>> note_of(const LockName& id, const Answer& answer) const;
  Result<std::int64_t> leaders_time();
  std::string life() const { return life_path(session_.root(), known_->head.life); }
  Error broken(const std::string& what) const { return broken_stock(name_, what); }

  StockSession& session_;
  std::optional<SeenHead>& known_;
  const LockName& name_;
  const CallLimit& limit_;
  const std::string path_;
  std::string gate_;       ///< ours, once we wanted one
  bool is_fresh_ = false;  ///< what is read now is read after a sync
  bool missing_ = false;
  bool unsure_ = false;
  int tries_ = 0;
  int open_ = 0;
  std::int64_t token_ = 0;
  std::map<int, Page> pages_;
  std::optional<Group> group_;
  Errand* errand_ = nullptr;
  bool swept_ = false;
  std::vector<Change> changes_;
  std::optional<Change> head_change_;
};

}  // namespace dlock::zookeeper
