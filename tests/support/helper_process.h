// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/unique_fd.h"
#include "tests/support/acquisition.h"
#include "tests/support/client.h"

namespace dlock::testing {

/// Another process with a client of its own: this very program, started again with a switch. It takes one lock, prints
/// one line for each event ("granted TOKEN", "refused ...", "lost ..."), and obeys lines on its stdin ("release",
/// "withdraw", "detach-ttl MS", "detach-pid PID", "spawn": starts a child that inherits the lock's descriptor and
/// sleeps). Killed, if it still lives, at the end.
class HelperProcess {
 public:
  /// `store` names the backend for the factory that helper_main() was given.
  HelperProcess(const std::string& store, const LockSpec& spec);
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess();

  /// The next line that it prints; nullopt at its end, or if nothing comes within `patience`.
  std::optional<std::string> line(Duration patience = kPatience);
  /// The token of its "granted" line; throws if it says something else.
  FencingToken granted();
  void say(const std::string& line);
  void signal(int number);
  /// SIGKILL, and waits for its end.
  void kill();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
  std::string unread_;
};

/// A lease taken by another process, which is gone when this returns. `how`: "detach-ttl MS" or "detach-pid PID".
FencingToken take_lease(const std::string& store, const LockSpec& spec, const std::string& how);

using BackendFactory = std::function<std::unique_ptr<Client>(const std::string& store)>;

/// The helper's side: call it first in main(). nullopt if this is not a helper, else the exit status.
std::optional<int> helper_main(int argc, char** argv, const BackendFactory& connect);

}  // namespace dlock::testing
