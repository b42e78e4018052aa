// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/admin_common.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/lock/lock_errors.h"

namespace dlock {
namespace {

constexpr std::size_t kAtOnce = 256;  ///< locks in one set: what one answer may take, in memory and in time

}  // namespace

bool is_of_one_lock(const Error& error) {
  return error.code == ErrorCode::kDenied || error.code == ErrorCode::kMisconfigured ||
         error.code == ErrorCode::kUnsupported;
}

Result<LiveLocks> inspect_each(KnownLocks known, const InspectSome& inspect) {
  std::vector<LockName>& names = known.names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  LiveLocks live{.locks = {}, .unreadable = std::move(known.unreadable)};
  for (std::size_t begin = 0; begin < names.size(); begin += kAtOnce) {
    const auto some = std::span(names).subspan(begin, std::min(kAtOnce, names.size() - begin));
    std::vector<Result<LockState>> states = inspect(some);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (!states[i]) {
        if (!is_of_one_lock(states[i].error())) return states[i].error();
        live.unreadable.push_back({some[i].text(), std::move(states[i]).error()});
      } else if (!states[i]->holders.empty() || !states[i]->waiters.empty()) {
        live.locks.push_back(std::move(*states[i]));
      }
    }
  }
  return live;
}

Result<void> LockAdmin::revoke(const LockName& name, const LockState& /*shown*/, const std::string& /*by*/) {
  return cannot_be_asked(name, "locks of this kind have no place for a message to their holder");
}

Result<ForceReleased> LockAdmin::free_by_force(const LockState& shown, const std::string& by) {
  std::vector<std::string> owners;  // of dlock's
  for (const Participant& holder : shown.holders) {
    if (memory_ && !by.empty() && Owner::parse(holder.owner)) owners.push_back(holder.owner);
  }
  if (!owners.empty()) memory_->note_who_frees(shown.name, owners, by);
  auto freed = force_release(shown.name, shown, by);
  const bool is_theirs = !freed && freed.error().code != ErrorCode::kUnavailable;
  if (!owners.empty() && is_theirs) memory_->note_who_frees(shown.name, owners, "");
  return freed;
}

Result<std::vector<Swept>> LockAdmin::collect_all_garbage(bool dry_run) {
  TRY_ASSIGN(auto swept, collect_garbage(dry_run));
  if (!memory_) return swept;
  TRY_ASSIGN(auto over, memory_->sweep(dry_run, patience_));
  std::move(over.begin(), over.end(), std::back_inserter(swept));
  return swept;
}

Result<Participant> LockAdmin::forget(const LockName& slot) { return not_remembered(slot); }

Result<void> LockAdmin::ask_to_end(const LockState& shown, const std::string& by) {
  LockState running = shown;
  std::erase_if(running.holders, runs_nothing);
  for (const Participant& holder : shown.holders) {
    const auto owner = Owner::parse(holder.owner);
    if (!runs_nothing(holder) || !owner) continue;
    const auto released = release(shown.name, *owner);
    if (released || released.error().code == ErrorCode::kLost) continue;
    if (released.error().code != ErrorCode::kUnsupported || shown.holders.size() > 1) return released;
    TRY(free_by_force(shown, by));
  }
  return running.holders.empty() ? Result<void>() : revoke(shown.name, running, by);
}

Result<LiveLocks> AdminCommon::inspect_all() {
  TRY_ASSIGN(auto known, known_locks());
  std::erase_if(known.names, [](const LockName& name) { return name.is_slot(); });
  return inspect_those(std::move(known));
}

Result<std::vector<Participant>> AdminCommon::remembered(const LockName& key) {
  if (memory_) return memory_->remembered(key, answer_by());
  TRY_ASSIGN(auto known, known_locks());
  std::erase_if(known.names, [&](const LockName& name) { return !name.is_slot() || name.key() != key.text(); });
  TRY_ASSIGN(const auto live, inspect_those(std::move(known)));
  std::vector<Participant> slots;
  for (const LockState& slot : live.locks) {
    if (slot.holders.empty()) continue;
    slots.push_back(slot.holders.front());
    slots.back().slot = slot.name.slot();
  }
  return slots;
}

Result<Participant> AdminCommon::forget(const LockName& slot) {
  if (memory_) return memory_->forget(slot, answer_by());
  TRY_ASSIGN(const auto state, inspect(slot));
  if (state.holders.empty()) return not_remembered(slot);
  TRY(force_release(slot, state, ""));
  return state.holders.front();
}

Result<UniqueFd> AdminCommon::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  TRY(check_has_tokens());
  if (!memory_) return Error{ErrorCode::kUnsupported, store() + " remembers no tokens", "use a store that has rows"};
  TRY(memory_->fence(resource, token, answer_by()));
  return UniqueFd();
}

Result<LiveLocks> AdminCommon::inspect_those(KnownLocks known) {
  return inspect_each(std::move(known), [this](std::span<const LockName> names) { return inspect_some(names); });
}

std::vector<Result<LockState>> AdminCommon::inspect_some(std::span<const LockName> names) {
  std::vector<Result<LockState>> states;
  for (const LockName& name : names) {
    states.push_back(inspect(name));
    if (!states.back() && !is_of_one_lock(states.back().error())) break;
  }
  return states;
}

Result<void> AdminCommon::check(const LockName& name, FencingToken token) {
  if (const auto has = check_has_tokens(); !has) return has;
  TRY_ASSIGN(const auto state, inspect(name));
  const auto holder = std::find_if(state.holders.begin(), state.holders.end(),
                                   [token](const Participant& one) { return one.token == token; });
  if (holder == state.holders.end()) return no_present_holder(token, name);
  if (is_hold(holder->standing)) return {};
  Error over = no_present_holder(token, name);
  over.message = "the lease of token " + token.text() + " has ended: it does not hold " + name.text();
  return over;
}

Result<Duration> AdminCommon::ping() {
  const LockName name = LockName::for_ping();
  const TimePoint before = clock_.now();
  TRY_ASSIGN(const auto release, take_for_ping(name));
  const auto given = release();
  const Duration took = clock_.now() - before;
  forget_ping(name);
  if (!given) return given.error();
  return took;
}

Finding Finding::ok(std::string what) { return {Verdict::kOk, std::move(what), {}}; }

Finding Finding::warn(std::string what, std::string remedy) {
  return {Verdict::kWarn, std::move(what), std::move(remedy)};
}

Finding Finding::fail(std::string what, std::string remedy, ErrorCode failure) {
  return {Verdict::kFail, std::move(what), std::move(remedy), failure};
}

Finding Finding::fail(const Error& error) { return fail(error.message, error.next, error.code); }

}  // namespace dlock
