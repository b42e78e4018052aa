// SPDX-License-Identifier: Apache-2.0
#include "tests/support/acquisition.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace dlock::testing {

Duration scaled(Duration span) {
  static const char* const slowness = getenv("DLOCK_TEST_SLOWNESS");
  return span * std::max(1, slowness ? atoi(slowness) : 1);
}

LockName name(const std::string& text) {
  auto parsed = LockName::parse(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

LockSpec exclusive(const std::string& key) {
  LockSpec spec{.name = name(key), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
  return spec;
}

LockSpec shared(const std::string& key) {
  LockSpec spec = exclusive(key);
  spec.mode = Mode::kShared;
  return spec;
}

LockSpec permits(const std::string& key, int count) {
  LockSpec spec = exclusive(key);
  spec.mode = Mode::kPermits;
  spec.permits = count;
  return spec;
}

LockSpec renewed_soon(LockSpec spec) {
  spec.renew_interval = std::chrono::seconds(1);
  return spec;
}

LockSpec once(LockSpec spec) {
  spec.wait.once = true;
  return spec;
}

LockSpec for_at_most(LockSpec spec, Duration patience) {
  spec.wait.until = SystemClock().now() + patience;
  return spec;
}

Acquisition::Acquisition(Client& client, const LockSpec& spec) {
  auto opened = client.open(spec);
  if (!opened) throw std::runtime_error("open: " + opened.error().message);
  session_ = std::move(*opened);
  session_->acquire(clock_.now());
}

Acquisition::Acquisition(std::unique_ptr<LockSession> session) : session_(std::move(session)) {
  session_->acquire(clock_.now());
}

std::optional<SessionEvent> Acquisition::next(Duration patience) {
  const TimePoint until = clock_.now() + patience;
  for (;;) {
    if (auto event = session_->next_event(clock_.now())) return event;
    if (clock_.now() >= until) return std::nullopt;
    std::vector<pollfd> fds;
    session_->add_interest(fds);
    clock_.wait(fds, earlier(session_->wake_at(), until));
  }
}

HeldLock Acquisition::held() {
  auto granted = wait_for<Granted>();
  if (!granted) throw std::runtime_error("not granted: " + last_);
  if (granted->locks.size() != 1) throw std::runtime_error("granted, but not one lock");
  return granted->locks.front();
}

bool Acquisition::stays_quiet(Duration span) {
  const TimePoint until = clock_.now() + scaled(span);
  while (const auto event = next(until - clock_.now())) {
    if (!std::holds_alternative<Renewed>(*event)) return false;
  }
  return true;
}

void Acquisition::release() {
  session_->release(clock_.now() + kPatience);
  if (!wait_for<Released>()) throw std::runtime_error("not released: " + last_);
}

void Acquisition::withdraw() {
  session_->withdraw(clock_.now() + kPatience);
  if (!wait_for<Withdrawn>()) throw std::runtime_error("not withdrawn: " + last_);
}

std::string Acquisition::describe(const SessionEvent& event) {
  struct Visitor {
    std::string operator()(const Granted&) { return "granted"; }
    std::string operator()(const Renewed&) { return "renewed"; }
    std::string operator()(const Unrenewed&) { return "unrenewed"; }
    std::string operator()(const Lost& lost) { return "lost: " + lost.why; }
    std::string operator()(const Refused& refused) { return "refused: " + refused.error.message; }
    std::string operator()(const Waiting&) { return "waiting"; }
    std::string operator()(const Unreached& unreached) { return "unreached: " + unreached.why; }
    std::string operator()(const Reached&) { return "reached"; }
    std::string operator()(const Withdrawn&) { return "withdrawn"; }
    std::string operator()(const Released&) { return "released"; }
    std::string operator()(const ReleaseUnconfirmed& u) { return "release unconfirmed: " + u.error.message; }
    std::string operator()(const SessionGone& gone) { return "session gone: " + gone.why; }
  };
  return std::visit(Visitor(), event);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dlock-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dlock::testing
