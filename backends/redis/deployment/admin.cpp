// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/admin.h"

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/record.h"
#include "lib/keeper/insist.h"

namespace dlock::redis {

TimePoint LayoutAdmin::soon() const { return runtime_.clock.now() + runtime_.patience; }

Result<LockState> LayoutAdmin::inspect(const LockName& name) {
  TRY_ASSIGN(auto lock, open(name));
  return lock->read_state(soon(), nullptr);
}

Result<KnownLocks> LayoutAdmin::known_locks() {
  KnownLocks known;
  for (const char* suffix : {"holders", "waiting"}) {
    TRY_ASSIGN(const auto some, names_with_companion(*deployment_, suffix, store_, runtime_));
    known.names.insert(known.names.end(), some.begin(), some.end());
  }
  return known;
}

std::vector<Result<LockState>> LayoutAdmin::inspect_some(std::span<const LockName> names) {
  std::vector<Result<LockState>> states;
  std::vector<std::unique_ptr<Layout>> locks;
  std::vector<std::string> keys;
  std::vector<Command> commands;
  for (const LockName& name : names) {
    auto lock = open(name);
    if (!lock) states.emplace_back(lock.error());
    else states.emplace_back(LockState{.name = name, .store = store_, .holders = {}, .waiters = {}});
    if (!lock) continue;
    keys.push_back((*lock)->key());
    commands.push_back((*lock)->state_command());
    locks.push_back(std::move(*lock));
  }
  const WallTime asked = runtime_.clock.wall();
  auto replies = call_each(*deployment_, keys, commands, runtime_, soon());
  std::size_t next = 0;
  for (Result<LockState>& state : states) {
    if (!state) continue;
    auto& reply = replies[next];
    state = reply ? locks[next]->state_in(std::move(*reply), asked) : Result<LockState>(reply.error());
    ++next;
  }
  return states;
}

Result<ForceReleased> LayoutAdmin::force_release(const LockName& name, const LockState& shown,
                                                 const std::string& /*by*/) {
  TRY_ASSIGN(auto lock, open(name));
  const std::string data = data_to_drop(shown);
  TRY(data.empty() ? lock->force(shown, soon()) : lock->drop_data(data, soon()));
  return ForceReleased{shown.holders.empty() ? unheard(shown) : shown.holders};
}

Result<void> LayoutAdmin::revoke(const LockName& name, const LockState& shown, const std::string& by) {
  TRY_ASSIGN(auto lock, open(name));
  const auto asked = lock->revoke(shown, by, soon());
  return asked ? asked : of_request_to_holder(asked.error(), name);
}

Result<HeldLock> LayoutAdmin::renew(const LockName& name, const Owner& owner, Duration ttl) {
  TRY_ASSIGN(auto lock, open(name));
  const TimePoint until = soon();
  const auto token = insist(runtime_.clock, until, kAskAgainPause, [&] {
                       return lock->renew(owner, ttl, true, "", until, nullptr);
                     }).answer;
  if (!token) return token.error();
  return HeldLock{name, owner, *token, store_};
}

Result<void> LayoutAdmin::release(const LockName& name, const Owner& owner) {
  TRY_ASSIGN(auto lock, open(name));
  const TimePoint until = soon();
  return insist_gone(
      runtime_.clock, until, kAskAgainPause, false, [&] { return lock->release(owner, nullptr, until); },
      [&] { return lock->was_answered(); });
}

}  // namespace dlock::redis
