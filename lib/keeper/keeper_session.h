// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/messages.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// The descriptor on which a keeper program finds its end of the socket pair.
inline constexpr int kKeeperDescriptor = 3;

/// How long a keeper that was given up may take to end by itself after its socket was closed; then it is killed.
inline constexpr Duration kGiveUpGrace = std::chrono::milliseconds(1500);

/// A lock that a program of its own keeps. The supervisor's end: starts the program ("PROGRAM --keeper", in a session
/// of its own, with its socket as descriptor 3), sends it the request, and believes nothing but its messages.
/// Nothing the keeper does or fails to do can block this side: the socket is non-blocking, and every answer that the
/// contract of LockSession promises by a deadline is given by this end when the keeper is silent; so is a Refused
/// (Internal) when a wait has had its answer_due() and a moment more. A keeper's silence or end never is Unavailable.
/// The keeper sees the end of this process as end of file. One that is given up (it is silent, talks nonsense, closed
/// its socket, or is dropped before it has answered) is killed and reaped by the destructor, unless it ends within
/// kGiveUpGrace.
/// A run inside a hold (LockSpec::ancestor) starts no program: it speaks with the keeper of that hold in the same
/// words, and asks no server. Where that keeper is not to be reached, is not believed or hangs up, its own one looks
/// for the hold in the store, and never waits for it.
class KeeperSession final : public LockSession {
 public:
  /// `style`: how, and how much, the keeper says on stderr.
  KeeperSession(std::string program, BackendUrl url, LockSpec spec, Clock& clock, const Log::Style& style = kSilent);
  KeeperSession(const KeeperSession&) = delete;
  KeeperSession& operator=(const KeeperSession&) = delete;
  ~KeeperSession() override;

  void acquire(TimePoint now) override;
  void withdraw(TimePoint deadline) override;
  void release(TimePoint deadline) override;
  void ask_who() override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override { return answer_by_; }
  std::optional<SessionEvent> next_event(TimePoint now) override;
  pid_t keeper_pid() const override { return pid_ != 0 ? pid_ : outer_keeper_; }
  void command_started(const GuardHandles& guard) override;
  void command_ended(int wait_status) override;
  void command_over() override;
  Result<void> detach(const DetachSpec& spec) override;

 private:
  enum class Awaiting { kNothing, kWithdrawn, kReleased, kDetached };

  bool enter();
  void start();
  Result<void> start_program();
  int spawn(char* const* arguments, char* const* environment, int socket);
  void send(const Message& message, int descriptor = -1);
  std::optional<SessionEvent> receive();
  std::optional<SessionEvent> turned_away();
  std::optional<SessionEvent> answer_own(const std::string& verb);
  SessionEvent lose(const Lost& lost);
  SessionEvent gone();
  SessionEvent over(SessionEvent last);
  SessionEvent answer_for_silent_keeper();
  SessionEvent close(SessionEvent last);
  std::string what_it_does() const;
  void end_program();
  void wait_for_end(Duration limit);
  void continue_program();

  const std::string program_;
  const BackendUrl url_;
  LockSpec spec_;
  Clock& clock_;
  const Log::Style style_;
  UniqueFd socket_;
  pid_t pid_ = 0;           ///< of the program
  bool enters_ = false;     ///< instead of it: the keeper of an outer hold
  pid_t outer_keeper_ = 0;  ///< that one, once it has let us in
  Awaiting awaiting_ = Awaiting::kNothing;
  TimePoint asked_at_{};                 ///< when acquire() was called
  std::optional<TimePoint> answer_by_;   ///< of a grant, until there is one; then of what is awaited
  std::string trouble_;                  ///< while it waits: why it does not reach the store
  std::optional<SessionEvent> pending_;  ///< to be returned before the socket is read
  bool heard_ = false;                   ///< the keeper has said something
  bool started_ = false;                 ///< the command was started
  bool lost_ = false;  ///< the keeper has said Lost; it still listens, to end the command if we do not
  bool granted_ = false;
  bool closed_ = false;
  bool detached_ = false;
  std::optional<SessionEvent>
      early_answer_;  ///< to a release() that is still to come: the keeper has ended the command
};

}  // namespace dlock
