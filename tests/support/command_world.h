// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "tests/support/fake_backend.h"

namespace dlock {

/// A clock on which waiting takes no time. Its wall says 2026-02-03T04:05:06.789Z at the start.
class LeapingClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  WallTime wall() const override;
  void wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) override;

 private:
  TimePoint now_{};
};

/// Everything that was written to a pseudo-terminal. Closes `slave`: only then it is known that nothing is on its way.
std::string drain_terminal(const UniqueFd& master, UniqueFd& slave);

/// What a command needs, and what it said: stdout as text, stderr in a file in memory.
struct CommandWorld {
  FakeBackend backend;
  OpenSession sessions = [this](const LockSpec& spec) { return backend.open(spec); };
  LeapingClock clock;
  UniqueFd err{memfd_create("stderr", MFD_CLOEXEC)};
  Log log{Log::Style{}, err.get()};
  Runtime runtime{clock, log};
  Options options;
  std::string out;
  Output output{out, Look{}};

  std::string said() const;  ///< all of stderr so far
};

}  // namespace dlock
