// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "lib/lock/fencing_token.h"

namespace dlock::zookeeper {

/// Makes `directory` and what is missing above it: containers, which the server removes when they are empty
/// (`persistent`, and servers that know none: nodes that stay). Those that exist are left alone.
Result<void> make_directory(Calls& calls, const std::string& directory, bool persistent, const std::string& data,
                            TimePoint until, Control* control);

/// What the directories that dlock makes carry, so that gc knows them.
inline constexpr char kDirectoryData[] = "dlock";

/// One acquisition's nodes in the directory of one stage, from their creation to their removal. All of them are made by
/// one transaction, belong to the session of `calls`, and bear a GUID of their own: what an unanswered request has
/// left is found again by it. Errors are those of Calls; after Unavailable enter() may be called again.
class ContenderStore {
 public:
  ContenderStore(Calls& calls, Stage stage, std::string data);

  /// Makes the nodes if they are not there, and judges. Unsupported near the end of the directory's numbers, Conflict
  /// if a semaphore has been made for another number of leases.
  Result<Verdict> enter(TimePoint until, Control* control);

  /// Judges again, by what the leader knows.
  Result<Verdict> judge_again(TimePoint until, Control* control);

  /// What makes the nodes; for one who has it done by a transaction of his own, and then says which they are.
  Request creation() const;
  void adopt(std::vector<std::string> nodes, std::int64_t czxid, TimePoint sent);

  /// Watches what the verdict names. False: it has happened already.
  Result<bool> watch(const Verdict& verdict, TimePoint until, Control* control);

  /// Has something happened that this verdict waits for?
  bool is_woken(const Verdict& verdict);

  /// Takes the nodes away. Lost if one of them was not there any more, unless an answer had been missing. `version`: of
  /// the first one's data, -1 for any; Conflict if it is another one.
  Result<void> remove(TimePoint until, int version = -1);

  /// Sees to the removal without waiting for it: sends it, and when called again, once more if it was not answered.
  void remove_meanwhile();

  /// They are gone, or will go with the session: begins anew.
  void forget();

  /// Who was seen at the last look that cannot exclude us, or be excluded by us.
  std::vector<std::string> strangers() const;

  /// In the order of their numbers.
  const std::vector<std::string>& paths() const { return own_; }
  FencingToken token() const { return FencingToken(static_cast<std::uint64_t>(czxid_)); }
  /// Before the last request that the leader has answered, and before the one before it.
  TimePoint sent() const { return sent_; }
  TimePoint previously_sent() const { return previously_sent_; }
  void answered_by_leader(TimePoint sent);

 private:
  Result<Verdict> enter_numbered(TimePoint until, Control* control);
  Result<Verdict> enrol(const Answer& creation, std::uint64_t listed, TimePoint until, Control* control);
  Result<Verdict> with_token(Result<Verdict> verdict, TimePoint until, Control* control);
  Result<Verdict> enter_when_free(TimePoint until, Control* control);
  Result<Verdict> create_one(const std::string& path, TimePoint until, Control* control);
  Result<void> find(TimePoint until, Control* control);
  Result<Answer> remove_nodes(TimePoint until, int version);
  Result<void> check_leases(TimePoint until, Control* control);
  Result<Verdict> judged(const Result<Answer>& list);
  std::vector<Change> removals(int version = -1) const;
  std::vector<std::string> own_names() const;
  std::string path_of(const std::string& name) const { return stage_.directory + "/" + name; }

  Calls& calls_;
  const Stage stage_;
  const std::string data_;
  Guid guid_;
  std::vector<std::string> own_;
  std::vector<std::string> seen_;  ///< the children at the last look
  std::int64_t czxid_ = 0;
  bool unknown_ = false;  ///< nodes of ours may be there that own_ does not tell
  bool checked_ = false;
  std::optional<std::uint64_t> removal_;  ///< on its way
  TimePoint sent_{};
  TimePoint previously_sent_{};
};

}  // namespace dlock::zookeeper
