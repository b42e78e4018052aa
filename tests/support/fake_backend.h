// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/lock_admin.h"

namespace dlock {

inline LockName lock_name(std::string_view text) { return *LockName::parse(text); }

/// A session that says what it was told to say.
class ScriptedSession final : public LockSession {
 public:
  std::deque<SessionEvent> after_acquire;
  std::deque<SessionEvent> after_release = {Released{}};

  void acquire(TimePoint) override { events_ = after_acquire; }
  void withdraw(TimePoint) override { events_ = {Withdrawn{}}; }
  void release(TimePoint) override { events_ = after_release; }
  void ask_who() override {}
  void add_interest(std::vector<pollfd>&) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  std::optional<SessionEvent> next_event(TimePoint) override {
    if (events_.empty()) return std::nullopt;
    SessionEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  Result<void> detach(const DetachSpec&) override { return Error{ErrorCode::kUnsupported, "no detaching here"}; }

 private:
  std::deque<SessionEvent> events_;
};

/// A store in memory with named failure switches. Locks are put in by the test; what is asked of them follows the
/// contract of LockAdmin.
class FakeBackend final : public LockAdmin {
 public:
  std::map<LockName, LockState> locks;
  std::map<LockName, FencingToken> fences;
  bool remembers = false;                  ///< it knows which names were ever taken: those of `locks`
  bool forgets = false;                    ///< but not for good
  std::vector<UnreadableLock> unreadable;  ///< locks that inspect_all() may not read
  std::vector<Swept> garbage;
  std::vector<Finding> findings;
  std::string freed_by;  ///< what the last force_release() was told

  std::optional<Error> fails;     ///< every call fails with this
  int looks_until_it_fails = -1;  ///< inspections that still work before `fails` counts; -1: it counts at once
  int looks_until_all_free = -1;  ///< inspections after which nobody holds anything any more; -1: never
  std::optional<Participant> changes_hands_to;  ///< after the next inspect() somebody else holds the lock
  std::optional<Error> grants_fail;             ///< sessions are refused with this

  Participant& hold(std::string_view key, std::uint64_t token) {
    LockState& state = state_of(lock_name(key));
    Participant holder;
    holder.token = FencingToken(token);
    state.holders.push_back(holder);
    return state.holders.back();
  }

  const std::string& store() const override { return store_; }

  Result<std::unique_ptr<LockSession>> open(const LockSpec& spec) {
    auto session = std::make_unique<ScriptedSession>();
    if (grants_fail) session->after_acquire = {Refused{*grants_fail, std::nullopt}};
    else session->after_acquire = {Granted{{{spec.name, spec.owner, FencingToken(++granted_), store_}}, std::nullopt}};
    return std::unique_ptr<LockSession>(std::move(session));
  }

  Result<LockState> inspect(const LockName& name) override {
    if (fails_now()) return *fails;
    const auto at = locks.find(name);
    LockState shown{.name = name, .store = store_, .holders = {}, .waiters = {}};
    if (at != locks.end()) shown = at->second;
    if (remembers) shown.ever_taken = at != locks.end();
    shown.forgets = forgets;
    if (changes_hands_to) state_of(name).holders = {*std::exchange(changes_hands_to, std::nullopt)};
    return shown;
  }

  Result<LiveLocks> inspect_all() override {
    if (fails_now()) return *fails;
    if (looks_until_all_free >= 0 && looks_until_all_free-- == 0) locks.clear();
    LiveLocks all{.locks = {}, .unreadable = unreadable};
    for (const auto& [name, state] : locks) all.locks.push_back(state);
    return all;
  }

  LiveLocks neighbours;
  LiveLocks inspect_neighbours() override { return neighbours; }

  Result<ForceReleased> force_release(const LockName& name, const LockState& shown, const std::string& by) override {
    freed_by = by;
    auto& holders = state_of(name).holders;
    const bool same = std::equal(holders.begin(), holders.end(), shown.holders.begin(), shown.holders.end(),
                                 [](const Participant& a, const Participant& b) { return a.token == b.token; });
    if (!same) return Error{ErrorCode::kConflict, name.text() + " changed hands", "look again"};
    return ForceReleased{std::exchange(holders, {})};
  }

  Result<void> check(const LockName& name, FencingToken token) override {
    if (fails) return *fails;
    const auto at = locks.find(name);
    for (const Participant& holder : at == locks.end() ? std::vector<Participant>() : at->second.holders) {
      if (holder.token == token) return {};
    }
    return Error{ErrorCode::kLost, "token " + token.text() + " does not hold " + name.text()};
  }

  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration) override {
    const Participant* holder = held_by(name, owner);
    if (!holder) return not_held(name);
    return HeldLock{name, owner, holder->token, store_};
  }

  Result<void> release(const LockName& name, const Owner& owner) override {
    if (fails) return *fails;
    if (!held_by(name, owner)) return not_held(name);
    locks.erase(name);
    return {};
  }

  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy&) override {
    if (fails) return *fails;
    FencingToken& highest = fences[resource];
    if (token < highest) return Error{ErrorCode::kLost, "token " + highest.text() + " was here before " + token.text()};
    highest = token;
    return UniqueFd();
  }

  Result<std::vector<Swept>> collect_garbage(bool dry_run) override {
    if (fails) return *fails;
    return dry_run ? garbage : std::exchange(garbage, {});
  }

  std::vector<Finding> diagnose() override { return findings; }

  Result<Duration> ping() override {
    if (fails) return *fails;
    return Duration(std::chrono::microseconds(21));
  }

 private:
  LockState& state_of(const LockName& name) {
    return locks.try_emplace(name, LockState{.name = name, .store = store_, .holders = {}, .waiters = {}})
        .first->second;
  }
  const Participant* held_by(const LockName& name, const Owner& owner) {
    for (const Participant& holder : state_of(name).holders) {
      if (holder.owner == owner.text()) return &holder;
    }
    return nullptr;
  }
  static Error not_held(const LockName& name) {
    return {ErrorCode::kLost, name.text() + " is not held by this owner any more"};
  }
  bool fails_now() {
    if (!fails) return false;
    if (looks_until_it_fails < 0) return true;
    return looks_until_it_fails-- == 0;
  }

  std::string store_ = "local:/var/lib/dlock";
  std::uint64_t granted_ = 0;
};

}  // namespace dlock
