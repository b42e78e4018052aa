// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/rows/row_queue.h"

namespace dlock::mysql {

/// The statement for a commit that is one row, written at its version; `version` is put around the new version.
/// nullopt: it is another one.
std::optional<std::string> plain_update(const std::string& group, const Rows::Commit& commit,
                                        const std::string& version = "?");

/// The queue of a lock: a named lock that an exclusive holder keeps while it holds. Each statement is about one row, by
/// primary key, in autocommit mode.
class RowGate final : public RowQueue {
 public:
  /// What they name outlives it. `space`: a literal.
  RowGate(const Settings& settings, Servers& servers, std::string space, const Runtime& runtime)
      : settings_(settings), servers_(servers), space_(std::move(space)), runtime_(runtime) {}

  bool is_missing() const override { return missing_; }
  bool at_head() const override { return servers_.current() != nullptr && gate_ == servers_.generation(); }
  Result<Rows::Look> look(const LockName& group, const std::string& key, const CallLimit& limit) override {
    return look_and_fill(group, key, {}, limit);
  }
  Result<Rows::Look> fill(const LockName& group, const std::string& key, const std::string& text,
                          const CallLimit& limit) override {
    return look_and_fill(group, key, text, limit);
  }
  Turn wait(const LockName& group, const std::string& key, const std::string& text, const WaitingNote& note,
            std::optional<TimePoint> until, Acquisition& acquisition, Control& control) override;
  Result<Rows::Number> commit_and_leave(const LockName& group, const Rows::Commit& commit,
                                        const CallLimit& limit) override;
  void leave(const LockName& group, const CallLimit& limit) override;
  Rows& beside() override;

  /// Keeps a named lock of its own, so that whoever tells it finds this connection, and ends it. False: as
  /// is_missing(). Unavailable also while the server has not ended the connection that had it before.
  Result<bool> listen(const LockName& group, const std::string& key, const CallLimit& limit);
  /// Whether it listened on a connection that is not the present one any more; asked once.
  bool is_deaf();
  /// Ends the connections of those who listen to these keys, as far as this account may.
  void tell(const LockName& group, const Rows::Commit& commit, const CallLimit& limit);

  Result<std::map<std::string, std::vector<Participant>>> waiters(const LockName* group,
                                                                  const CallLimit& limit) override;

 private:
  std::string of(const LockName& group) const;
  Result<Rows::Look> look_and_fill(const LockName& group, const std::string& key, const std::string& text,
                                   const CallLimit& limit);
  Result<Rows::Look> understood(const Answer& answer);

  const Settings& settings_;
  Servers& servers_;
  const std::string space_;
  const Runtime runtime_;
  int gate_ = -1;           ///< the connection (Servers::generation) that has it; -1: none
  std::optional<int> ear_;  ///< the connection on which it listens
  bool missing_ = false;
  std::uint64_t connection_ = 0;  ///< the server's id of ours
  std::unique_ptr<Rows> beside_;
};

}  // namespace dlock::mysql
