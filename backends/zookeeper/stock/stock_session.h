// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/shared_session.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock.h"

namespace dlock::zookeeper {

/// What we know of the leader's clock, which stamps every change. Only ever too early, by the age of an answer; a new
/// leader may have another clock.
class LeaderClock {
 public:
  /// A change that was answered just now bears this stamp, in ms.
  void seen(std::int64_t stamp, TimePoint now) { stamp_ = stamp, seen_ = now; }
  /// Its time, in ms since 1970; nullopt if it was not seen for `most`.
  std::optional<std::int64_t> time(TimePoint now, Duration most = Duration::max()) const;

 private:
  std::int64_t stamp_ = 0;
  std::optional<TimePoint> seen_;
};

/// A session that is opened on first use, and anew whenever it has ended, was left alone for half of its time, or no
/// server has taken it back for as long as it lasts: nothing of a stock belongs to one but the locks of segments, while
/// they are held, and those keep it alive. Single-threaded.
class StockSession final : public SharedSession {
 public:
  StockSession(Ensemble ensemble, const Runtime& runtime) : ensemble_(std::move(ensemble)), runtime_(runtime) {}

  Result<std::shared_ptr<Calls>> share(TimePoint until, Control* control) override;
  void retire() override { calls_.reset(); }
  /// Locks are to be held in it for leases of `ttl`: from now on it is as long as those want, unless some are held.
  void carry_leases(Duration ttl);
  /// A reservation is renewed in it every third of `ttl`: the next one is as long as that wants, or longer.
  void outlast(Duration ttl);

  /// All of them are on their way before the first is answered; the server keeps their order. Unavailable: what the
  /// changes among them did is not known. Denied; Cancelled.
  Result<std::vector<Answer>> ask(const std::vector<Request>& requests, const CallLimit& limit);
  Result<Answer> ask(const Request& request, const CallLimit& limit);
  /// For requests that may be asked twice: again, until there are answers or the limit has come.
  Result<std::vector<Answer>> ask_until(const std::vector<Request>& requests, const CallLimit& limit);

  /// Waits until then, or until a watch on `path` (may be empty) has fired. Cancelled.
  Result<void> pause(TimePoint until, const std::string& path, const CallLimit& limit);

  /// As make_directory() of contender.h, with nodes that stay.
  Result<void> make_directory(const std::string& path, const CallLimit& limit);

  const Ensemble& ensemble() const { return ensemble_; }
  const Runtime& runtime() const { return runtime_; }
  const std::string& root() const { return ensemble_.root(); }
  const std::string& store() const { return ensemble_.store(); }
  TimePoint now() const { return runtime_.clock.now(); }
  LeaderClock& leader() { return leader_; }

 private:
  Result<Calls*> session(const CallLimit& limit);
  bool is_neglected() const;

  Ensemble ensemble_;
  const Runtime runtime_;
  std::shared_ptr<Calls> calls_;
  TimePoint used_{};                            ///< last
  Duration length_ = std::chrono::seconds(10);  ///< asked for; without locks nothing of ours depends on it
  Duration least_{0};                           ///< asked for, see outlast()
  LeaderClock leader_;
};

}  // namespace dlock::zookeeper
