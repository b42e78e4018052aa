// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "cmd/verify/history.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// A process that was started in the sandbox.
struct SandboxProcess {
  pid_t pid = 0;
  UniqueFd process;  ///< readable when it has ended
  UniqueFd said;     ///< its stderr, not blocking
};

struct SandboxAnswer {
  int status = 0;    ///< of exit; 128 + N for signal N
  std::string out;   ///< stdout
  std::string said;  ///< stderr
};

/// Where `dlock verify` works: a temporary directory, and the dlock processes that it starts. Each of these has the
/// sandbox's mark in its environment and a process group of its own, is killed by the kernel when this process dies,
/// and reads no configuration files.
class Sandbox {
 public:
  /// Makes the directory, and in it a file with the password of `url`, which then stands in no command line. System if
  /// they cannot be made.
  static Result<Sandbox> make(const BackendUrl& url);

  /// Starts dlock with the arguments `words`; `in` becomes its stdin (-1: /dev/null), its stdout goes nowhere. System
  /// if it cannot be started.
  Result<SandboxProcess> start(const std::vector<std::string>& words, int in = -1) const;
  /// Runs dlock with the arguments `words`, and waits for its end.
  Result<SandboxAnswer> ask(const std::vector<std::string>& words) const;
  /// The same with the store of url() added to the words.
  Result<SandboxAnswer> ask_store(std::vector<std::string> words) const;

  /// Appends one line to the history; else System.
  Result<void> note(const Act& act) const;
  const std::string& history() const { return history_path_; }
  const std::string& directory() const { return directory_; }
  const std::string& program() const { return program_; }
  const BackendUrl& url() const { return url_; }
  const std::string& mark() const { return mark_; }

  /// Kills every process that has the mark, until there is none; false if some live on.
  bool end_processes() const;
  void remove_directory() const;

 private:
  pid_t spawn(const std::vector<std::string>& words, int in, int out, int err) const;

  BackendUrl url_;
  std::string directory_;
  std::string history_path_;
  std::string program_;
  std::string mark_;  ///< NAME=value in the environment of everything started here
  std::vector<std::string> environment_;
  UniqueFd history_;
};

/// A duration as a word of a command line: "1500ms".
std::string ms_word(Duration length);

/// The last message in `log`, which is the stderr of a run with --log-format json; cut after 200 bytes.
std::string last_message(const std::string& log);

/// The processes of one run.
struct RunFamily {
  pid_t keeper = 0;   ///< 0: it has none
  pid_t command = 0;  ///< 0: not started
};
RunFamily family_of(pid_t supervisor);

/// Ends the processes of the sandbox and removes its directory; if `claimed`, also drops the stock and waits until each
/// key is free. `claimed` is whether this verify has the right to the keys: they may be those of another one. Returns
/// what is still there, in words; empty if nothing is.
std::string clean_up(const Sandbox& sandbox, Duration ttl, bool claimed);

/// A second process that calls clean_up() if this one dies before it has done so itself. It notices the death by the
/// end of a pipe.
class Guard {
 public:
  /// Forks; System if that fails. REQUIRES: `sandbox` is complete.
  static Result<Guard> start(const Sandbox& sandbox, Duration ttl);
  /// This verify has the right to the keys of the store from now on: `claimed` of clean_up().
  void claim();
  bool claimed() const { return claimed_; }
  /// This process has cleaned up: the second one ends and does nothing. Waits for its end.
  void dismiss();

 private:
  UniqueFd pipe_;
  pid_t pid_ = 0;
  bool claimed_ = false;
};

inline constexpr int kHistoryFull = 93;  ///< an exit status that nothing else here has

/// `dlock __section FILE NAME DURATION [stubborn]`, the command of the workers: appends BEGIN, a TICK every 10 ms and,
/// when the time is over, END to the history FILE. TERM ends it, or, if it is stubborn, is written down. Returns the
/// exit status; kHistoryFull if FILE could not be written.
int section_command(const std::vector<std::string>& words, char** environment);

}  // namespace dlock
