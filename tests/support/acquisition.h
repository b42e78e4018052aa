// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/clock.h"
#include "tests/support/client.h"

namespace dlock::testing {

/// "Long enough for anything that is going to happen": reached only by a test that fails.
constexpr Duration kPatience = std::chrono::seconds(40);

/// A window of real time, as long as it has to be on this machine just now: DLOCK_TEST_SLOWNESS times `span`.
Duration scaled(Duration span);

LockName name(const std::string& text);
LockSpec exclusive(const std::string& key);
LockSpec shared(const std::string& key);
LockSpec permits(const std::string& key, int count);
LockSpec once(LockSpec spec);                            ///< -n
LockSpec renewed_soon(LockSpec spec);                    ///< after a second: some stores tell of a loss only then
LockSpec for_at_most(LockSpec spec, Duration patience);  ///< -w, from now

/// Drives one session as a supervisor would: a poll loop on the machine's own clock.
class Acquisition {
 public:
  /// Opens the session and asks for the lock. Throws std::runtime_error if the store cannot do what `spec` asks.
  Acquisition(Client& client, const LockSpec& spec);
  explicit Acquisition(std::unique_ptr<LockSession> session);

  /// Waits for the next event; nullopt if there is none within `patience`.
  std::optional<SessionEvent> next(Duration patience = kPatience);
  /// Waits for an event of this kind, passing over others; nullopt if a final one or nothing came instead.
  template <typename Event>
  std::optional<Event> wait_for(Duration patience = kPatience) {
    const TimePoint until = clock_.now() + patience;
    while (auto event = next(until - clock_.now())) {
      if (auto* wanted = std::get_if<Event>(&*event)) return std::move(*wanted);
      last_ = describe(*event);
    }
    return std::nullopt;
  }
  /// The lock, once it is granted. Throws if it is not.
  HeldLock held();
  /// True if nothing but a renewal happens for a while (scaled): long enough for a wrong grant to show.
  bool stays_quiet(Duration span = std::chrono::milliseconds(60));

  /// Throw if the session does not confirm.
  void release();
  void withdraw();
  LockSession& session() { return *session_; }
  /// The last event that wait_for() did not wait for, in words.
  const std::string& last() const { return last_; }
  static std::string describe(const SessionEvent& event);

 private:
  SystemClock clock_;
  std::unique_ptr<LockSession> session_;
  std::string last_ = "nothing";
};

/// Waits until `condition` holds; false if it does not within kPatience.
template <typename Condition>
bool eventually(Condition condition, Duration patience = kPatience) {
  SystemClock clock;
  const TimePoint until = clock.now() + patience;
  Duration pause = std::chrono::milliseconds(1);
  while (!condition()) {
    if (clock.now() >= until) return false;
    std::vector<pollfd> nothing;
    clock.wait(nothing, clock.now() + pause);
    pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(20));
  }
  return true;
}

/// A directory of its own below the system's temporary one, removed with all its files at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dlock::testing
