// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/unique_fd.h"
#include "lib/keeper/control.h"
#include "lib/keeper/messages.h"
#include "lib/keeper/orphans.h"

namespace dlock {

/// The keeper's end of the socket to its supervisor, never blocking. What has come is kept until it is asked for; what
/// makes no sense is left out and remembered. A message that a supervisor must not miss even if it does not read
/// (Control::tell()) is kept, and sent by receive() as soon as there is room, before anything else is said; of the
/// renewals the latest one, as soon as the socket is a quarter full: the last confirmation is reported first, however
/// long the socket went unread.
class SupervisorLink final : public Control {
 public:
  explicit SupervisorLink(UniqueFd socket) : socket_(std::move(socket)) {}

  struct Detach {
    Duration ttl;
    std::optional<pid_t> watch_pid;
  };

  void add_interest(std::vector<pollfd>& fds) const override;
  bool stop_requested() override;
  bool take_who() override;
  void tell(const SessionEvent& event) override;
  using Revoke = std::function<Result<void>(const LockState& shown, const std::string& by, TimePoint until)>;
  Result<void> revoke(const LockState& shown, const std::string& by, TimePoint until) override;
  /// By what revoke() is done; without it it is Unsupported.
  void revoke_by(Revoke ask) { ask_ = std::move(ask); }

  /// Reads everything that has come, and says what could not be said before.
  void receive();
  /// Whether something has been kept that the supervisor may not miss.
  bool has_unsaid() const { return socket_.valid() && (!unsaid_.empty() || renewal_); }

  bool gone() const { return gone_; }
  bool nonsense() const { return nonsense_; }
  std::optional<AcquireRequest> take_acquire();
  /// What came with the request: where the runs inside will knock (hold_socket.h); invalid: nowhere.
  UniqueFd take_entrance() { return std::move(entrance_); }
  std::optional<TimePoint> withdraw_by() const { return withdraw_by_; }
  std::optional<TimePoint> release_by() const { return release_by_; }
  std::optional<Detach> take_detach() { return std::exchange(detach_, std::nullopt); }
  /// The command's guard; invalid: nothing that could be ended was started.
  std::optional<Guard> take_started() { return std::exchange(started_, std::nullopt); }
  /// Asks the supervisor whether it is there; whatever it says next is the answer.
  void ask_whether_there();
  /// Has it said anything since the last call?
  bool take_heard() { return std::exchange(heard_, false); }
  /// After "lost": nothing is left to be ended.
  bool over() const { return over_; }

  /// Whether it has asked for the count.
  bool take_count() { return std::exchange(count_, false); }
  void tell_count(int entries);

  std::optional<int> take_ended() { return std::exchange(ended_, std::nullopt); }

  /// Has anything been read that has not been dealt with?
  bool has_news() const { return is_stopped() || started_.has_value(); }

  /// From now on the keeper is on its own: nothing is read or said any more, and nothing stops what is being done.
  void close();

 private:
  bool is_stopped() const { return socket_.valid() ? withdraw_by_ || release_by_ || detach_ : gone_; }
  void take(const Message& message, UniqueFd passed);
  void renewed(std::string packet);
  bool has_room() const;
  bool fits(const std::string& packet);
  void say(std::string packet, bool may_be_missed);
  void say_kept();
  void refuse(const Error& error);

  UniqueFd socket_;
  Revoke ask_;
  std::deque<std::string> unsaid_;      ///< packets
  std::optional<std::string> renewal_;  ///< the latest one, after "more"; older than what is in unsaid_
  bool gone_ = false;
  bool nonsense_ = false;
  bool heard_ = false;
  bool who_ = false;
  std::optional<AcquireRequest> acquire_;
  UniqueFd entrance_;
  std::optional<TimePoint> withdraw_by_;
  std::optional<TimePoint> release_by_;
  std::optional<Detach> detach_;
  UniqueFd farewell_;
  std::optional<Guard> started_;
  bool over_ = false;
  std::optional<int> ended_;
  bool count_ = false;
};

}  // namespace dlock
