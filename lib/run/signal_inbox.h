// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <optional>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// A signal that came in.
struct ReceivedSignal {
  int number = 0;
  pid_t sender = 0;            ///< 0 if the kernel sent it
  bool from_terminal = false;  ///< ^C, ^\, ^Z, hang-up: the whole foreground group has it
};

/// Whether `signal` neither ends nor stops a process by default: CHLD, URG, WINCH, CONT.
bool is_harmless(int signal);

/// Whether `signal` is how people and the system ask a program to end: HUP, INT, QUIT, TERM.
bool is_an_end(int signal);

/// Receives the signals of this process, which so interrupt nothing.
class SignalInbox {
 public:
  virtual ~SignalInbox() = default;
  virtual int fd() const = 0;
  virtual std::optional<ReceivedSignal> next() = 0;
};

/// The signal settings as dlock got them, which a command gets back before it is executed.
struct InheritedSignals {
  sigset_t mask{};
  bool ignored_child = false;  ///< SIGCHLD was ignored
};

/// Makes SIGCHLD work where it was ignored (with it ignored the kernel reaps children itself, and their status is
/// lost). Whether it ever was: remembered for as long as the process lives.
bool heed_children();

/// The process's own inbox. Blocks every signal that can be forwarded and reads them from a signalfd; what was ignored
/// when dlock started (nohup) stays ignored, TTIN and TTOU keep stopping us, faults keep killing us, and SIGCHLD is
/// made to work where it was ignored. One object a process, made before anything that forks; blocked signals stay
/// blocked after it is gone.
class ProcessSignals final : public SignalInbox {
 public:
  static Result<ProcessSignals> open();

  int fd() const override { return fd_.get(); }
  std::optional<ReceivedSignal> next() override;
  const InheritedSignals& inherited() const { return inherited_; }

 private:
  UniqueFd fd_;
  InheritedSignals inherited_;
};

/// Stops this process as SIGTSTP does by default, and returns when it is continued.
void stop_self();

/// Ends this process by `signal`, without a core of its own, so that shells and make see the same death; exits with 128
/// + signal where the signal does not kill (process 1 of a container).
[[noreturn]] void die_of(int signal);

}  // namespace dlock
