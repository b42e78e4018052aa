// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/locks.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "cmd/options/arguments.h"
#include "cmd/show/contention.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/config/suggest.h"
#include "lib/keeper/hold_socket.h"
#include "lib/lock/owner.h"
#include "lib/run/holder_process.h"

namespace dlock {
namespace {

bool matches(const LockName& pattern, const LockState& state) {
  return state.name == pattern || fnmatch(pattern.text().c_str(), state.name.text().c_str(), 0) == 0;
}

void put_in_order(std::vector<LockState>& locks) {
  const auto before = [](const LockState& a, const LockState& b) { return a.name < b.name; };
  const auto same = [](const LockState& a, const LockState& b) { return a.name == b.name; };
  std::sort(locks.begin(), locks.end(), before);
  locks.erase(std::unique(locks.begin(), locks.end(), same), locks.end());
}

Result<LiveLocks> look_everywhere(LockAdmin& backend) {
  auto all = backend.inspect_all();
  if (!all) return all;
  LiveLocks neighbours = backend.inspect_neighbours();
  std::move(neighbours.locks.begin(), neighbours.locks.end(), std::back_inserter(all->locks));
  std::move(neighbours.unreadable.begin(), neighbours.unreadable.end(), std::back_inserter(all->unreadable));
  return all;
}

/// "did you mean 'deploy'?", if a live name is near.
std::string near_text(const LockName& name, LockAdmin& backend) {
  const auto live = backend.inspect_all();
  if (!live) return {};
  Nearest nearest(name.text());
  for (const LockState& other : live->locks) nearest.offer(other.name.text());
  return did_you_mean(nearest.best());
}

/// A remark on the name of a free lock that the store does not know. A store that remembers no past holds
/// cannot distinguish a mistyped name from one that is free just now, and says so only where a live name is near.
std::string unknown_name_text(const LockState& state, LockAdmin& backend) {
  const std::string near = near_text(state.name, backend);
  if (!state.ever_taken) return near.empty() ? "" : "no lock of that name is held; " + near;
  std::string text = "no lock of that name was ever taken";
  if (state.forgets) text += ", as far as " + printable(backend.store()) + " remembers";
  return near.empty() ? text : text + "; " + near;
}

Result<LiveLocks> look_at_keys(const std::vector<LockName>& keys, LockAdmin& backend) {
  LiveLocks wanted;
  if (std::any_of(keys.begin(), keys.end(), is_pattern)) {
    TRY_ASSIGN(auto live, backend.inspect_all());
    wanted.unreadable = std::move(live.unreadable);
    for (LockState& state : live.locks) {
      const bool meant = std::any_of(keys.begin(), keys.end(),
                                     [&](const LockName& key) { return is_pattern(key) && matches(key, state); });
      if (meant) wanted.locks.push_back(std::move(state));
    }
  }
  for (const LockName& key : keys) {
    if (is_pattern(key)) continue;
    TRY_ASSIGN(auto state, backend.inspect(key));
    wanted.locks.push_back(std::move(state));
  }
  put_in_order(wanted.locks);
  return wanted;
}

/// A store on a server knows of one hold; how often it was entered its keeper knows, which is to be reached here alone.
void count_entries(LockState& state, Clock& clock) {
  for (Participant& holder : state.holders) {
    if (holder.pid <= 0 || holder.host != this_process().host) continue;
    const auto owner = Owner::parse(holder.owner);
    if (const auto count = owner ? ask_for_count(*owner, static_cast<pid_t>(holder.pid), clock) : std::nullopt)
      holder.count = *count;
  }
}

}  // namespace

std::optional<Duration> oldest_hold(const LockState& state, WallTime now) {
  std::optional<Duration> oldest;
  for (const Participant& holder : state.holders) {
    if (holder.since) oldest = std::max(oldest.value_or(Duration(0)), age(*holder.since, now));
  }
  return oldest;
}

bool knows_every_age(const LockState& state) {
  return std::all_of(state.holders.begin(), state.holders.end(), [](const Participant& holder) {
    return holder.since || is_delay(holder.standing) || holder.standing == Standing::kForeignData;
  });
}

Result<LiveLocks> look_at_locks(const Options& options, LockAdmin& backend, Clock& clock) {
  auto live = options.keys.empty() ? look_everywhere(backend) : look_at_keys(options.keys, backend);
  if (!live) return live;
  for (LockState& state : live->locks) {
    count_entries(state, clock);
    complete_holders(state.holders, clock.wall());
  }
  return live;
}

std::string why_free_text(const LockState& state, LockAdmin& backend) {
  if (!state.holders.empty() || !state.waiters.empty()) return {};
  std::string text = state.ever_taken.value_or(false) ? "" : unknown_name_text(state, backend);
  for (const LockState& other : backend.inspect_neighbours().locks) {
    if (other.name != state.name || other.holders.empty()) continue;
    text += (text.empty() ? "" : "; ") + ("one of that name is held in " + other.store);
    if (!other.directory_of.empty()) text += ", by " + other.directory_of;
  }
  return text;
}

std::optional<Error> held_elsewhere(const LockState& state, const Options& options, LockAdmin& backend,
                                    const std::string& command) {
  if (options.store_typed) return std::nullopt;
  for (const LockState& other : backend.inspect_neighbours().locks) {
    if (other.name != state.name || other.holders.empty()) continue;
    const std::string whose = other.directory_of.empty() ? "" : " of " + other.directory_of;
    return Error{ErrorCode::kBusy,
                 state.name.text() + " is free in " + backend.store() + ", but held in " + other.store + whose,
                 "nothing was changed; to reach that one: dlock " + command + " --backend " + shell_word(other.store) +
                     " " + state.name.typed()};
  }
  return std::nullopt;
}

Error unreadable_error(const LiveLocks& live, const LockAdmin& backend) {
  constexpr std::size_t kMostNamed = 3;
  const std::size_t count = live.unreadable.size();
  std::string names;
  for (std::size_t i = 0; i < std::min(count, kMostNamed); ++i) names += (i > 0 ? ", " : "") + live.unreadable[i].name;
  if (count > kMostNamed) names += " and " + std::to_string(count - kMostNamed) + " more";
  const Error& why = live.unreadable.front().why;
  return {ErrorCode::kDenied,
          std::to_string(count) + (count == 1 ? " lock in " : " locks in ") + backend.store() +
              " cannot be read: " + names + " (" + why.message + ")",
          "whether they are held is not known" +
              (why.next.empty() ? "; look as the user who takes them, or as root" : ": " + why.next)};
}

}  // namespace dlock
