// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/database.h"

#include <doctest/doctest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::mysql::testing::ask_test {
namespace {

using namespace std::chrono_literals;
using dlock::testing::FakeClock;
using dlock::testing::ScriptedControl;

/// A connection that answers at one moment, or never.
class SlowDatabase final : public Database {
 public:
  SlowDatabase(FakeClock& clock, std::optional<TimePoint> answers_at) : clock_(clock), answers_at_(answers_at) {}
  void begin(std::string, std::string) override {}
  bool went_on() const override { return false; }
  std::optional<AnswerOrFailure> outcome() override {
    if (broken || !answers_at_ || clock_.now() < *answers_at_) return std::nullopt;
    return Answer{};
  }
  void add_interest(std::vector<pollfd>&) const override {}
  void close() override { broken = true; }
  bool usable() override { return !broken; }

  bool broken = false;

 private:
  FakeClock& clock_;
  const std::optional<TimePoint> answers_at_;
};

struct Slow {
  explicit Slow(std::optional<Duration> answer) : control(clock) {
    if (answer) answers_at = clock.now() + *answer;
    control.stop_at = clock.now() + 100ms;
    clock.next_happening = [this] {
      return clock.now() < *control.stop_at            ? control.stop_at
             : answers_at && clock.now() < *answers_at ? answers_at
                                                       : std::nullopt;
    };
  }
  FakeClock clock;
  ScriptedControl control;
  std::optional<TimePoint> answers_at;
};

TEST_CASE("an answer that is on its way when a stop comes is waited for, so that the connection can be used on") {
  Slow slow(300ms);
  SlowDatabase database(slow.clock, slow.answers_at);
  const AnswerOrFailure outcome = ask(database, "UPDATE", slow.clock, slow.clock.now() + 5s, &slow.control);
  CHECK(std::holds_alternative<Answer>(outcome));
  CHECK(database.usable());
}

TEST_CASE("a stop ends what is not answered, shortly after") {
  Slow slow(std::nullopt);
  SlowDatabase database(slow.clock, slow.answers_at);
  const TimePoint began = slow.clock.now();
  const AnswerOrFailure outcome = ask(database, "UPDATE", slow.clock, began + 5s, &slow.control);
  REQUIRE(std::holds_alternative<Failure>(outcome));
  CHECK(std::get<Failure>(outcome).cancelled);
  CHECK_FALSE(database.usable());
  CHECK(slow.clock.now() - began <= 600ms);
}

}  // namespace
}  // namespace dlock::mysql::testing::ask_test
