// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"

namespace dlock::zookeeper {

/// Makes `directory` and the directories that are missing above it, as containers, which the server removes when they
/// are empty; as nodes that stay if `persistent`, or if the server knows no containers. Leaves existing ones alone.
Result<void> make_directory(Calls& calls, const std::string& directory, bool persistent, const std::string& data,
                            TimePoint until, Control* control);

/// The data of the directories that dlock makes, by which gc recognises them.
inline constexpr char kDirectoryData[] = "dlock";

/// The nodes of one acquisition in the directory of one stage, from their creation to their removal. One transaction
/// makes all of them; they belong to the session of `calls` and share a GUID, by which the nodes of an unanswered
/// request are found again. Errors are those of Calls; after Unavailable enter() may be called again. Single-threaded.
class ContenderStore {
 public:
  ContenderStore(Calls& calls, Stage stage, std::string data);

  /// Makes the nodes if they are not there, and judges by the list of children. Unsupported near the end of the
  /// directory's numbers, Conflict if the semaphore was made for another number of leases.
  Result<Verdict> enter(TimePoint until, Control* control);

  /// Judges again, from a list of children that is read after a sync.
  Result<Verdict> judge_again(TimePoint until, Control* control);

  /// The request that enter() would make the nodes with: for a caller that has its own transaction make them.
  Request creation() const;
  /// The caller's transaction, sent at `sent`, has made `nodes` (paths), whose czxid this is.
  void adopt(std::vector<std::string> nodes, std::int64_t czxid, TimePoint sent);

  /// Sets the watches that the verdict names. False: a change that it waits for has happened already.
  Result<bool> watch(const Verdict& verdict, TimePoint until, Control* control);

  /// Whether a watch of this verdict has fired.
  bool is_woken(const Verdict& verdict);

  /// Removes the nodes. Lost if a node was already gone, unless an earlier request of this was not answered and may
  /// have removed it; after that, as after success, none is there any more. After any other error they may be, and are
  /// not forgotten.
  Result<void> remove(TimePoint until);

  /// Sends the removal without waiting for its answer. Call it again from time to time: it repeats the request if the
  /// connection was lost before the answer.
  void remove_meanwhile();

  /// Forgets the nodes: the next enter() makes new ones. REQUIRES: they are gone, as remove() or the caller's own
  /// transaction has confirmed. Else they would go on excluding everybody, us too, for as long as the session lives.
  void forget();

  /// Whether nodes of ours may be there.
  bool may_be_there() const { return unknown_ || !own_.empty(); }

  /// The contenders in the last list of children that do not exclude us, or that we do not exclude (rules.h).
  std::vector<std::string> strangers() const;

  /// In the order of their numbers.
  const std::vector<std::string>& paths() const { return own_; }
  FencingToken token() const { return FencingToken(static_cast<std::uint64_t>(czxid_)); }
  /// A time before the last request that the leader has answered was sent.
  TimePoint sent() const { return sent_; }
  /// The same for the request before that one.
  TimePoint previously_sent() const { return previously_sent_; }
  /// The leader has answered a request that was sent after `sent`.
  void answered_by_leader(TimePoint sent);

 private:
  Result<Verdict> enter_numbered(TimePoint until, Control* control);
  Result<Verdict> enrol(const Answer& creation, std::uint64_t listed, TimePoint until, Control* control);
  Result<Verdict> with_token(Result<Verdict> verdict, TimePoint until, Control* control);
  Result<Verdict> enter_when_free(TimePoint until, Control* control);
  Result<Verdict> create_one(const std::string& path, TimePoint until, Control* control);
  Result<void> find(TimePoint until, Control* control);
  Result<Answer> remove_nodes(TimePoint until);
  Result<void> remove_one_by_one(TimePoint until);
  Result<void> check_leases(TimePoint until, Control* control);
  Result<Verdict> judged(const Result<Answer>& list);
  std::vector<Change> removals() const;
  std::vector<std::string> own_names() const;
  std::string path_of(const std::string& name) const { return stage_.directory + "/" + name; }

  Calls& calls_;
  const Stage stage_;
  const std::string data_;
  Guid guid_;
  std::vector<std::string> own_;
  std::vector<std::string> seen_;  ///< the children at the last look
  std::int64_t czxid_ = 0;
  bool unknown_ = false;  ///< nodes of ours may be there that are not in own_
  bool checked_ = false;
  std::optional<std::uint64_t> removal_;  ///< on its way
  TimePoint sent_{};
  TimePoint previously_sent_{};
};

/// recipe=simple: the nodes of one holder after the other have the same name, and a deletion distinguishes them by the
/// version of their data alone, which begins at 0 each time. Raises that of the node `path` of the holder with this
/// `token` so far that the next one's is another, and returns it. Conflict if the node is another's by now.
Result<int> stamp_one_node(Calls& calls, const std::string& path, FencingToken token, TimePoint until);

/// The refusal of a key whose node `path` no session owns.
Error is_directory(const Calls& calls, const std::string& path);

}  // namespace dlock::zookeeper
