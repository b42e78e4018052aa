// SPDX-License-Identifier: Apache-2.0
// A scripted lock and those that acquire it, under a fake clock.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/unique_fd.h"
#include "lib/keeper/acquisition.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::acquisition_test {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::ScriptedControl;

/// A lock of somebody else, until `free_at`, on a server that is out between `out_from` and `out_until`. Who waits for
/// it is told when it is free, if the server is there then.
struct ScriptedLock final : Acquirer {
  ScriptedLock(FakeClock& fake, const LockSpec& wanted) : clock(fake), spec(wanted) {}

  Attempt attempt(TimePoint until, Control& /*control*/) override {
    tried_at.push_back(since(clock.now()));
    if (clock.now() >= reads_from && clock.now() < reads_until) patience->heard();
    if (is_out()) {
      const bool is_cut_short = clock.now() >= hangs_from;
      if (hangs || is_cut_short) clock.advance(until - clock.now());
      Error error = is_cut_short ? Error{ErrorCode::kUnavailable, "no answer in time"} : failure;
      if (answers) error.outage = Outage::kRefused;
      return error;
    }
    if (clock.now() >= free_at) return Granted{{HeldLock{spec.name, spec.owner, FencingToken(7), "store"}}, {}};
    return Busy{foreign};
  }

  bool wait(std::optional<TimePoint> until, Control& control) override {
    waits.push_back(since(until));
    const auto sleep = [&](std::optional<TimePoint> end) {
      std::vector<pollfd> fds;
      clock.wait(fds, earlier(end, free_at > clock.now() ? std::optional(free_at) : std::nullopt));
    };
    if (!patience->queues()) {
      acquisition->pause(until, control);
      return true;
    }
    return acquisition->wait_on({[&] { return clock.now() >= free_at; }, sleep}, until, control);
  }

  Result<LockState> describe(Control& /*control*/) override {
    described_at.push_back(since(clock.now()));
    clock.advance(describing_takes);
    if (is_out() || clock.now() < describable_from) return failure;
    Participant holder;
    holder.owner = "somebody";
    if (is_data) {
      holder.standing = Standing::kForeignData;
      holder.note = "a list";
    }
    Participant we;
    we.owner = spec.owner.text();
    Participant another;
    another.owner = "another";
    return LockState{spec.name, "store", Mode::kExclusive, 0, {holder}, {another, we}};
  }

  void withdraw() override { ++given_up; }

  static Duration since(TimePoint when) { return when - FakeClock::start(); }
  static std::optional<Duration> since(std::optional<TimePoint> when) {
    return when ? std::optional(since(*when)) : std::nullopt;
  }
  bool is_out() const { return clock.now() >= out_from && clock.now() < out_until; }

  FakeClock& clock;
  const LockSpec& spec;
  Acquisition* acquisition = nullptr;  ///< if it waits by one
  Patience* patience = nullptr;
  TimePoint free_at = FakeClock::start() + 24h;
  TimePoint out_from = FakeClock::start() + 48h;
  TimePoint out_until = FakeClock::start() + 96h;
  Duration describing_takes{0};
  TimePoint describable_from{};                     ///< who has it cannot be asked before, though the wait goes on
  TimePoint reads_from = FakeClock::start() + 48h;  ///< questions are answered though attempts are not
  TimePoint reads_until = FakeClock::start() + 96h;
  bool hangs = false;  ///< instead of refusing connections
  TimePoint hangs_from = FakeClock::start() + 48h;
  bool answers = false;
  bool foreign = false;  ///< dlock did not write what is there
  bool is_data = false;  ///< nor is it a lock
  Error failure{ErrorCode::kUnavailable, "no answer", ""};
  std::vector<Duration> tried_at;
  std::vector<std::optional<Duration>> waits;
  std::vector<Duration> described_at;
  int given_up = 0;
};

/// What a World's driver is given.
struct Parts {
  Parts() { spec.wait.connect_timeout = 5s; }

  void is_out(Duration from, Duration until) {
    lock.out_from = at(from);
    lock.out_until = at(until);
  }
  TimePoint at(Duration since) const { return FakeClock::start() + since; }
  std::string said() const {
    std::string text(4096, '\0');
    const ssize_t size = pread(stderr_like.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  FakeClock clock;
  UniqueFd stderr_like{memfd_create("said", MFD_CLOEXEC)};
  Log log{Log::Style{.verbose = true}, stderr_like.get()};
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  ScriptedControl control{clock};
  ScriptedLock lock{clock, spec};
};

/// A keeper.
class Blocking {
 public:
  explicit Blocking(Parts& parts)
      : parts_(parts), acquisition_(parts.spec, Runtime{parts.clock, parts.log}, parts.lock) {
    parts.lock.acquisition = &acquisition_;
    parts.lock.patience = &acquisition_.patience();
  }
  std::optional<AcquisitionSteps::Answer> run() { return acquisition_.run(parts_.control); }
  void trace(const char* step) { acquisition_.trace(step); }

 private:
  Parts& parts_;
  Acquisition acquisition_;
};

/// The poll loop of a session whose calls never wait, as that of local.
class Polling final : private AcquisitionSteps::Driver {
 public:
  explicit Polling(Parts& parts)
      : clock_(parts.clock),
        control_(parts.control),
        lock_(parts.lock),
        steps_(parts.spec, Runtime{parts.clock, parts.log}, *this) {
    lock_.patience = &steps_.patience();
  }
  std::optional<AcquisitionSteps::Answer> run() {
    while (!answer_ && !control_.stop_requested()) {
      go_on();
      std::vector<pollfd> fds;
      if (!answer_) clock_.wait(fds, wake_at());
    }
    if (!answer_) steps_.withdraw();
    return std::move(answer_);
  }
  void trace(const char* step) { steps_.trace(step); }

 private:
  bool may_get_turn() const { return is_busy_ && steps_.patience().queues(); }

  void go_on() {
    const TimePoint now = clock_.now();
    if ((may_get_turn() && now >= lock_.free_at) || (again_at_ && now >= *again_at_)) attempt(now);
    else if (is_busy_ && steps_.patience().is_over(now)) answer_ = steps_.over();
    else if (is_busy_ && steps_.gives_way()) answer_ = steps_.give_way();
    if (is_busy_ && !answer_) steps_.answer_who(control_.take_who());
  }

  void attempt(TimePoint now) {
    const TimePoint end = steps_.patience().attempt_end(now);
    auto attempt = lock_.attempt(end, control_);
    is_busy_ = std::holds_alternative<Acquirer::Busy>(attempt);
    if (auto* granted = std::get_if<Granted>(&attempt)) {
      answer_ = steps_.granted(std::move(*granted));
    } else if (const auto* failed = std::get_if<Error>(&attempt)) {
      take(steps_.failed(*failed, now, end));
      again_at_ = steps_.attempt_at();
    } else {
      take(steps_.busy(std::get<Acquirer::Busy>(attempt).foreign));
      if (!answer_) lock_.waits.push_back(lock_.since(steps_.patience().wait_end(now)));
      again_at_ = may_get_turn() ? std::nullopt : steps_.patience().wait_end(now);
    }
  }

  void take(std::optional<Refused> refused) {
    if (refused) answer_ = std::move(*refused);
  }

  std::optional<TimePoint> wake_at() const {
    const auto asked_at = earlier(again_at_, may_get_turn() ? std::optional(lock_.free_at) : std::nullopt);
    return earlier(earlier(asked_at, steps_.look_at()), steps_.patience().until());
  }

  Result<LockState> describe() override { return lock_.describe(control_); }
  void withdraw() override { lock_.withdraw(); }
  Result<void> revoke(const LockState& shown, const std::string& by) override {
    const Patience& patience = steps_.patience();
    return control_.revoke(shown, by, patience.look_end(clock_.now(), patience.connect_timeout()));
  }
  void tell(SessionEvent event) override { control_.tell(event); }

  FakeClock& clock_;
  ScriptedControl& control_;
  ScriptedLock& lock_;
  AcquisitionSteps steps_;
  bool is_busy_ = false;
  std::optional<TimePoint> again_at_ = TimePoint();
  std::optional<AcquisitionSteps::Answer> answer_;
};

template <typename Driver>
struct World : Parts {
  std::optional<AcquisitionSteps::Answer> run() { return driver.emplace(*this).run(); }
  bool is_granted() {
    const auto answer = run();
    return answer && std::holds_alternative<Granted>(*answer);
  }
  Refused refused() {
    const auto answer = run();
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    return std::get<Refused>(*answer);
  }

  std::optional<Driver> driver;
};

/// What was told of outages: "unreached: WHY", "reached".
inline std::vector<std::string> told_of_outages(const std::vector<SessionEvent>& told) {
  std::vector<std::string> words;
  for (const SessionEvent& event : told) {
    if (const auto* unreached = std::get_if<Unreached>(&event)) words.push_back("unreached: " + unreached->why);
    if (std::holds_alternative<Reached>(event)) words.emplace_back("reached");
  }
  return words;
}

}  // namespace dlock::acquisition_test
