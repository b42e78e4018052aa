// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/unique_fd.h"

namespace dlock::mysql {

/// Calls that block, made by somebody who must not: they run on a stack of their own, and where they would block in
/// poll(2) they give control back to the owner, who polls for them among everything else, and goes on with them when
/// what they wait for is there. One thread, no switch of the scheduler's, no lock. The owner must not throw and catch
/// around resume() while a fiber waits inside a catch block: the C++ runtime keeps one list of caught exceptions a
/// thread.
class Fiber {
 public:
  Fiber();
  /// What still runs is cancelled and runs to its end first.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// False: the system had no memory for a stack. Nothing can be run.
  bool valid() const { return stack_ != nullptr; }

  /// Runs `body` until it waits or ends. REQUIRES: valid(), !running(). `body` lets no exception out.
  void start(std::function<void()> body);

  /// Goes on with what waits, if that has come. REQUIRES: running().
  void resume();

  bool running() const { return running_; }  ///< started, and waits for something

  /// What to poll for while it waits.
  void add_interest(std::vector<pollfd>& fds) const;

  /// From now on every wait is over at once, as if its time had come. Runs to the end. For the rest of its life.
  void cancel();
  bool cancelled() const { return cancelled_; }

  /// The one that runs now, or nullptr.
  static Fiber* current();

  /// Called inside, as poll(2).
  int wait(pollfd* fds, nfds_t count, int timeout_ms);

  /// What runs inside may receive `bytes` more from now on; without that, anything.
  void allow(std::size_t bytes) { left_to_receive_ = bytes, overrun_ = false; }
  /// Called inside, before `bytes` are received. False: that is too much, or a login was refused.
  bool may_receive(std::size_t bytes);
  bool overrun() const { return overrun_; }  ///< since the last allow()

  /// Called inside: the server wants a login in this `way`, which we `may` use. A greeting names one that is not yet
  /// that of the user; when the server insists on one that is refused, nothing more is received.
  void login_asked_for(const char* way, bool may);
  const std::string& refused_login() const { return refused_login_; }  ///< empty: none was

  /// The socket that what runs inside has opened last and not closed; -1: none.
  int socket() const { return socket_; }
  void socket_opened(int fd);
  void socket_closing(int fd);

 private:
  static void enter(unsigned high, unsigned low);
  void switch_to();

  void* stack_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::function<void()> body_;
  std::vector<pollfd> awaited_;
  UniqueFd timer_;  ///< of the present wait, if it has a time of its own
  bool running_ = false;
  bool cancelled_ = false;
  int socket_ = -1;
  std::size_t left_to_receive_ = SIZE_MAX;
  bool overrun_ = false;
  int logins_ = 0;
  std::string refused_login_;
};

}  // namespace dlock::mysql
