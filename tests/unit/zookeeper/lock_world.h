// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/zookeeper/lock/lock.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/zookeeper/fake_ensemble.h"

namespace dlock::zookeeper::lock_test {

using namespace std::chrono_literals;
using dlock::testing::FakeClock;
using testing::FakeEnsemble;

inline constexpr Duration kTtl = 30s;

class Supervisor final : public Control {
 public:
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  bool stop_requested() override { return stops; }
  bool take_who() override { return std::exchange(asks_who, false); }
  void tell(const SessionEvent& event) override { told.push_back(event); }

  bool stops = false;
  bool asks_who = false;
  std::vector<SessionEvent> told;
};

/// Locks of one key on one ensemble, under a clock that jumps to what happens next.
class World {
 public:
  World() {
    clock.next_happening = [this]() -> std::optional<TimePoint> {
      if (!happens_at) return std::nullopt;
      if (*happens_at > clock.now()) return happens_at;
      happens_at.reset();
      event();
      return clock.now();
    };
  }

  std::unique_ptr<ZookeeperLock> lock(const LockSpec& spec, const std::string& recipe = "curator") {
    const auto url = BackendUrl::parse("zk://127.0.0.1/app?recipe=" + recipe);
    auto ensemble_of_url =
        Ensemble::of(*url, clock, [this](const SessionSettings& settings) { return ensemble.open(settings); });
    const std::string directory = *directory_of(ensemble_of_url->root(), spec.name);
    auto queues = queues_of(ensemble_of_url->recipe(), directory, spec.mode, spec.permits);
    return std::make_unique<ZookeeperLock>(std::move(*ensemble_of_url), spec, directory, std::move(*queues),
                                           Runtime{clock, log});
  }

  void at(Duration time, std::function<void()> act) {
    happens_at = FakeClock::start() + time;
    event = std::move(act);
  }

  FakeClock clock;
  FakeEnsemble ensemble;
  Supervisor supervisor;
  const Log log{Log::Style{.quiet = true}};
  std::optional<TimePoint> happens_at;
  std::function<void()> event;
};

inline LockSpec spec_of(Mode mode = Mode::kExclusive) {
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
  spec.mode = mode;
  spec.permits = mode == Mode::kPermits ? 2 : 0;
  spec.ttl = kTtl;
  spec.wait.connect_timeout = 5s;
  return spec;
}

inline const Granted* granted(const std::optional<std::variant<Granted, Refused>>& answer) {
  return answer ? std::get_if<Granted>(&*answer) : nullptr;
}
inline const Refused* refused(const std::optional<std::variant<Granted, Refused>>& answer) {
  return answer ? std::get_if<Refused>(&*answer) : nullptr;
}

inline const char* const kRecipes[] = {"curator", "rw", "semaphore-mutex", "kazoo", "simple"};

}  // namespace dlock::zookeeper::lock_test
