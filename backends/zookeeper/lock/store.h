// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// Makes `directory` and the directories that are missing above it, as containers, which the server removes when they
/// are empty; as nodes that stay if `persistent`, or if the server knows no containers. Leaves existing ones alone.
Result<void> make_directory(Calls& calls, const std::string& directory, bool persistent, const std::string& data,
                            TimePoint until, Control* control);

/// The data of the directories that dlock makes, by which gc recognises them.
inline constexpr char kDirectoryData[] = "dlock";

/// The node of one acquisition in the directory of one queue, from its creation to its removal. It belongs to the
/// session of `calls`, or is a lease (standing_leases.h), and has a GUID, by which the node of an unanswered request is
/// found again. Errors are those of Calls; after Unavailable enter() may be called again. Single-threaded.
class ContenderStore {
 public:
  ContenderStore(Calls& calls, QueueDirectory queue, std::string data);

  /// Makes the node if it is not there, and judges by the list of children. Unsupported near the end of the directory's
  /// numbers.
  Result<QueueTurn> enter(TimePoint until, Control* control);

  /// Judges again, from a list of children that is read after a sync.
  Result<QueueTurn> judge_again(TimePoint until, Control* control);

  /// Puts a node with this data into the place of ours, and keeps its number, so that nobody comes in between: a lease,
  /// or again one of our session. One that is of that kind already gets the data. Repeats while the outcome is
  /// unknown, until `until`. Lost if ours was gone. REQUIRES: it has a number.
  enum class Kept { kBySession, kAsLease };
  Result<void> keep(Kept how, const std::string& data, TimePoint until);

  /// Sets the watch that the turn names. False: the change that it waits for has happened already.
  Result<bool> watch(const QueueTurn& turn, TimePoint until, Control* control);

  /// Whether the watch of this turn has fired, or that of one of its leases.
  bool is_woken(const QueueTurn& turn);

  /// Removes the node. Lost if it was already gone, unless an earlier request of this was not answered and may have
  /// removed it; after that, as after success, it is not there any more. After any other error it may be, and is not
  /// forgotten.
  Result<void> remove(TimePoint until);

  /// Sends the removal without waiting for its answer. Call it again from time to time: it repeats the request if the
  /// connection was lost before the answer.
  void remove_meanwhile();

  /// Forgets the node: the next enter() makes another one. REQUIRES: it is gone, as remove() or the caller's own
  /// transaction has confirmed. Else it would go on excluding everybody, us too, for as long as the session lives.
  void forget();

  /// Whether a node of ours may be there.
  bool may_be_there() const { return unknown_ || !own_.empty(); }

  /// The contenders in the last list of children that do not exclude us, or that we do not exclude (rules.h).
  std::vector<std::string> strangers() const;

  /// Of a node in the directory, as a turn names it.
  std::string path_of(const std::string& name) const;
  const std::string& path() const { return own_; }  ///< "": there is none, as far as we know
  /// That of the first node, whatever has taken its place.
  FencingToken token() const { return FencingToken(static_cast<std::uint64_t>(token_)); }
  bool is_ours(const Answer& node) const { return node.code == Code::kOk && node.stat.czxid == czxid_; }
  Kept kept() const { return kept_; }
  /// A request that would have put another node into the place of ours was not answered.
  bool is_unsure() const { return unknown_; }
  /// A time before the last request that the leader has answered was sent.
  TimePoint sent() const { return sent_; }
  /// The same for the request before that one.
  TimePoint previously_sent() const { return previously_sent_; }
  /// The leader has answered a request that was sent after `sent`.
  void answered_by_leader(TimePoint sent);

 private:
  Result<QueueTurn> enter_numbered(TimePoint until, Control* control);
  Result<QueueTurn> enrol(const Answer& creation, std::uint64_t listed, TimePoint until, Control* control);
  Result<QueueTurn> among_rivals(Result<QueueTurn> turn, TimePoint until, Control* control);
  Result<bool> agrees_with_holders(TimePoint until, Control* control);
  Result<QueueTurn> create_one(const std::string& path, TimePoint until, Control* control);
  Result<void> find(TimePoint until, Control* control);
  Change creation() const;
  void adopt(std::string path, const NodeStat& stat, TimePoint sent);
  Result<void> keep_once(Kept how, const std::string& data, TimePoint until);
  Result<Answer> remove_node(TimePoint until);
  Result<QueueTurn> judged(const Result<Answer>& list);
  bool counts() const { return queue_.rule == Rule::kCuratorLease; }

  Calls& calls_;
  const QueueDirectory queue_;
  const std::string data_;
  Guid guid_;
  std::string own_;                ///< path of the node
  std::vector<std::string> seen_;  ///< the children at the last look
  std::int64_t czxid_ = 0;
  std::int64_t token_ = 0;
  Kept kept_ = Kept::kBySession;
  bool unknown_ = false;                  ///< a node of ours may be there that is not own_
  std::optional<std::uint64_t> removal_;  ///< on its way
  TimePoint sent_{};
  TimePoint previously_sent_{};
};

/// recipe=simple: the nodes of one holder after the other have the same name, and a deletion distinguishes them by the
/// version of their data alone, which begins at 0 each time. Raises that of the node `path` with this czxid so far that
/// the next one's is another, and returns it; nullopt if the node is gone, or another's by now.
Result<std::optional<int>> stamp_one_node(Calls& calls, const std::string& path, std::int64_t czxid, TimePoint until);

/// The refusal of a key whose node `path` no session owns.
Error is_directory(const Calls& calls, const std::string& path);

/// Gives a holder of a permit its slot (lib/lock/slots.h); if it has one already, because an answer was lost, returns
/// that. The slot stands in the data of its node `own`, and is free when that is removed. The same transaction also
/// writes the unchanged data of the directory, at the version read before the other slots were: of two holders that
/// choose at once, one is refused and chooses again. Curator's holders have no slots. Lost if our node is gone.
Result<std::string> take_slot(Calls& calls, const std::string& directory, const std::string& own, const LockSpec& spec,
                              TimePoint until, Control* control);

}  // namespace dlock::zookeeper
