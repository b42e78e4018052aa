// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "lib/base/runtime.h"
#include "lib/keeper/call_limit.h"

namespace dlock::zookeeper {

/// Estimates the leader's clock, which stamps every change. The estimate is never ahead of that clock, and slower than
/// it by at most the age of an answer; a new leader may have another clock.
class LeaderClock {
 public:
  /// A change that was answered at `now` bears this stamp, in ms since 1970.
  void seen(std::int64_t stamp, TimePoint now) { stamp_ = stamp, seen_ = now; }
  /// The leader's clock has shown that, whenever it was.
  void at_least(std::int64_t stamp, TimePoint now) {
    if (!seen_ || stamp > *time(now)) seen(stamp, now);
  }
  /// The leader's time, in ms since 1970; nullopt if the last stamp is older than `most`.
  std::optional<std::int64_t> time(TimePoint now, Duration most = Duration::max()) const;

 private:
  std::int64_t stamp_ = 0;
  std::optional<TimePoint> seen_;
};

/// The session of rows. Opened on first use; replaced by a new one when it has ended, was not used for half of its
/// timeout, or no server has accepted it for its whole timeout. That loses nothing: no
/// node belongs to it. Single-threaded.
class RowSession {
 public:
  RowSession(Ensemble ensemble, const Runtime& runtime) : ensemble_(std::move(ensemble)), runtime_(runtime) {}

  /// Sends all requests at once; the server keeps their order. Returns their answers. Unavailable: the outcome of the
  /// changes among them is unknown. Denied; Cancelled.
  Result<std::vector<Answer>> ask(const std::vector<Request>& requests, const CallLimit& limit);
  Result<Answer> ask(const Request& request, const CallLimit& limit);
  /// For requests that may be carried out twice: repeats while the outcome is unknown, until the limit.
  Result<std::vector<Answer>> ask_until(const std::vector<Request>& requests, const CallLimit& limit);

  /// Waits until `until`, or until a watch on `path` (may be empty) has fired. Cancelled.
  Result<void> pause(TimePoint until, const std::string& path, const CallLimit& limit);

  /// Watches the node `path`, which is made now and then for a moment. False: it is there.
  Result<bool> listen(const std::string& path, const CallLimit& limit);
  void add_interest(std::vector<pollfd>& fds) const;
  /// Whether it was made since the last call, or the connection of the watch has ended, with which that is over.
  bool heard();

  /// As make_directory() of zookeeper/lock/store.h, with nodes that stay.
  Result<void> make_directory(const std::string& path, const CallLimit& limit);
  /// The directories of what `all` would create.
  Result<void> make_room(const std::vector<Change>& all, const CallLimit& limit);

  const Ensemble& ensemble() const { return ensemble_; }
  const Runtime& runtime() const { return runtime_; }
  const std::string& root() const { return ensemble_.root(); }
  const std::string& store() const { return ensemble_.store(); }
  TimePoint now() const { return runtime_.clock.now(); }
  LeaderClock& leader() { return leader_; }

 private:
  Result<Calls*> connected(const CallLimit& limit);
  Error unreached(Error error) const;
  bool is_neglected() const;

  Ensemble ensemble_;
  const Runtime runtime_;
  std::unique_ptr<Calls> calls_;
  TimePoint used_{};  ///< last
  LeaderClock leader_;
  bool asked_ = false;                 ///< anything, ever
  std::string listens_to_;             ///< empty: to nothing
  const Calls* listens_in_ = nullptr;  ///< the session
  int listens_since_ = 0;              ///< and which of its connections
};

}  // namespace dlock::zookeeper
