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
  kConclude,       ///< ends the call without a change, if the state was read after a sync; else decides again after one
  kAsSeen,         ///< ends the call without a change, even if the state may be an old one
  kWrite,          ///< makes the changes, then ends the call
  kWriteThenRead,  ///< makes the changes, then reads and decides again
  kReadAgain,      ///< reads and decides again: the state changed while it was read
};

/// What the owner of a StockCall adds to it (StockCall::with): nodes to read together with the request, changes for the
/// same transaction, and a directory to list right after that. Each try begins with no changes.
struct Errand {
  std::vector<Request> reads = {};
  std::vector<Answer> seen = {};  ///< the answers to `reads`
  std::vector<Change> changes = {};
  std::string then_list = {};                 ///< the directory to list; empty: none
  std::vector<Answer::Changed> changed = {};  ///< the results of `changes`, once they are made
  std::vector<std::string> listed = {};       ///< the children of `then_list`
  std::int64_t zxid = 0;                      ///< of the transaction that made them
  TimePoint sent{};                           ///< before it was sent
};

/// One call on one stock: reads, decides, writes all or nothing against the versions that it has read, and starts over
/// when another client was faster. A server may lag behind the leader, so a call that writes nothing ends only on what
/// was read after a sync. A call that has lost several races closes the gate: all other clients then wait until it has
/// written, or, in case its process is gone, for a tenth of a second at least. The versions alone keep the books right;
/// the gate prevents starvation. Single-threaded.
class StockCall {
 public:
  using Decision = std::function<Result<Step>(StockCall&)>;

  /// All arguments outlive the call. `known`: the head as the last call read it; the caller keeps it for the next call.
  StockCall(StockSession& session, std::optional<SeenHead>& known, const LockName& name, const CallLimit& limit)
      : session_(session), known_(known), name_(name), limit_(limit), path_(stock_path(session.root(), name)) {}

  /// Repeats reading and `decide` until that has ended the call (Step) or failed. Closes the gate after `gate_after`
  /// lost tries. Unavailable when the limit is over. Misconfigured, and is_missing(), if there is no such stock.
  Result<void> run(int gate_after, const Decision& decide);
  bool is_missing() const { return missing_; }
  /// An earlier try has sent a transaction whose answer was lost: it may have been carried out.
  bool is_unsure() const { return unsure_; }
  /// Makes the first try read after a sync already: for a decision that seldom writes.
  StockCall& freshly() {
    is_fresh_ = true;
    return *this;
  }

  /// Adds `errand`, which outlives the call.
  StockCall& with(Errand& errand) {
    errand_ = &errand;
    return *this;
  }

  // The rest is for `decide`, which returns their errors. Changes are collected, and sent when it has returned.
  const StockHead& head() const { return known_->head; }
  int segments() const { return known_->head.segments; }
  int tries() const { return tries_; }
  /// This call has closed the gate: no other client changes the stock.
  bool has_gate() const { return known_ && !gate_.empty() && known_->head.gate == gate_; }

  /// Reads the note of request `id` (nullopt: none), and in the same round trip `segment`, unless that is negative.
  Result<std::optional<SeenNote>> request(const LockName& id, int segment = -1);
  /// The same, but a reservation whose time is over is given back (then *given is true) and counts as no note.
  Result<std::optional<SeenNote>> request_now(const LockName& id, bool* given, int segment = -1);
  /// Reads all segments and makes `requests` in one round trip; returns the answers to `requests`.
  Result<std::vector<Answer>> load_with(const std::vector<Request>& requests);
  /// Reads the segments that these parts belong to now, except those that this try has read already.
  Result<void> load(const StockParts& parts);
  /// Reads all segments and the number of reservations. With `steady` reads them twice, and says whether nothing
  /// changed in between: then they are the state at one moment.
  Result<void> load_all(bool* steady = nullptr);
  /// Reads the notes of `ids` and, as load_all() with `steady`, all segments. For the rest of this try, request() and
  /// load_all() answer from memory, including the changes that the try has collected.
  Result<void> load_group(const std::vector<LockName>& ids);
  const StockCounts& counts(int segment) const { return pages_.at(segment).counts; }
  std::vector<Quantity> quantities() const;  ///< REQUIRES: load_all()
  int open() const { return open_; }         ///< REQUIRES: load_all(true)

  /// Reads all reservations; one that begins or ends meanwhile may be missing.
  Result<std::vector<SeenNote>> reservations();
  /// Whether the time of this reservation is over by the leader's clock.
  Result<bool> is_over(const SeenNote& reservation);
  /// Gives back the reservations whose time is over, except those of load_group(), up to a limit for one transaction.
  /// False: there are none, or this try has called it before.
  Result<bool> sweep();

  /// Adds `more` (which may be negative) to the counts of `segment`. Misconfigured if a count would be negative or too
  /// large. REQUIRES: the segment is read.
  Result<void> move(int segment, const StockCounts& more);
  /// Adds `each`, times the items of the part, to the segment that each part belongs to now. REQUIRES: load(parts)
  Result<void> move_parts(const StockParts& parts, const StockCounts& each);
  /// Writes the note of request `id`. `before`: the one that it replaces, as it was read; nullopt: there is none.
  void remember(const LockName& id, const StockNote& note, const std::optional<SeenNote>& before);
  /// Adds `id` to the directory of reservations, or removes it there; the note and the counts are the caller's.
  void open_reservation(const LockName& id);
  void close_reservation(const LockName& id);
  /// Ends a reservation: returns its items to their segments, and removes its note.
  Result<void> give_back(const SeenNote& reservation);
  /// Replaces all segments, by another number of them if `segments` has it. REQUIRES: load_all()
  void replace(const std::vector<StockCounts>& segments);
  /// Removes the head, with which the stock ends, and all segments; the notes are removed later (stock_garbage.h).
  void remove();

  /// The token of the last write: the microseconds since 1970 at which the stock was made, plus a number that grows
  /// with each transaction of the ensemble.
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
  /// Reads the head again. False: another client, which took us for gone, has opened our gate. REQUIRES: has_gate()
  bool kept_gate();
  void leave_gate();
  std::vector<Change> head_with_gate(const std::string& gate) const;

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
  std::string gate_;       ///< the name of our gate; empty: this call has closed none
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
