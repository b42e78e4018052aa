// SPDX-License-Identifier: Apache-2.0
#include "backends/local/neighbours.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "backends/local/files/directory.h"
#include "backends/local/view.h"
#include "lib/base/users.h"

namespace dlock::local {
namespace {

struct Neighbour {
  std::string directory;
  std::uint32_t uid = 0;
  std::string user;  ///< whose it is
  auto operator<=>(const Neighbour&) const = default;
};

std::set<Neighbour> neighbours() {
  std::set<Neighbour> found{{kSystemDirectory, 0, {}}};
  for_each_user([&](const passwd& entry) {
    const bool has_home = entry.pw_uid != 0 && entry.pw_dir[0] == '/';
    if (has_home) found.insert({directory_below(entry.pw_dir), entry.pw_uid, entry.pw_name});
    return true;
  });
  return found;
}

void add(LiveLocks& live, const Neighbour& neighbour, const LocalContext& context) {
  const auto dir = LockDir::open_for_looking(neighbour.directory, neighbour.uid);
  if (!dir) return;
  const LocalContext theirs = {.runtime = context.runtime,
                               .settings = {.store = "local:" + neighbour.directory, .directory = neighbour.directory},
                               .host = context.host};
  auto known = locks_in(*dir);
  if (!known) return;
  auto some = inspect_each(std::move(*known), [&](std::span<const LockName> names) {
    std::vector<Result<LockState>> states;
    for (const LockName& name : names) {
      auto state = state_in(*dir, theirs, name);
      if (!state) states.emplace_back(state.error());
      else
        states.emplace_back(
            *state ? std::move(**state)
                   : LockState{.name = name, .store = theirs.settings.store, .holders = {}, .waiters = {}});
    }
    return states;
  });
  if (!some) return;
  std::move(some->unreadable.begin(), some->unreadable.end(), std::back_inserter(live.unreadable));
  for (LockState& state : some->locks) {
    state.directory_of = neighbour.user;
    live.locks.push_back(std::move(state));
  }
}

}  // namespace

bool is_key_file(const std::string& name) { return name.size() == 32 + std::string_view(".lock").size(); }

Result<KnownLocks> locks_in(const LockDir& dir) {
  const auto files = dir.list(".lock");
  if (!files) return files.error();
  KnownLocks known;
  for (const std::string& file_name : *files) {
    if (!is_key_file(file_name)) continue;
    const auto file = LockFile::open_existing(dir, file_name, {}, false);
    if (!file) known.unreadable.push_back({file_name, file.error()});
    if (!file || !*file) continue;
    const auto name = LockName::parse((*file)->key().value_or(std::string()));
    if (name && lock_file_name(*name) == file_name) known.names.push_back(*name);
  }
  return known;
}

Result<std::optional<LockState>> state_in(const LockDir& dir, const LocalContext& context, const LockName& name) {
  const auto file = LockFile::open_existing(dir, lock_file_name(name), name.text(), false);
  if (!file) return file.error();
  if (!*file) return std::optional<LockState>();
  const auto view = read_view(**file, name.is_path(), context.runtime.clock.now());
  if (!view) return view.error();
  LockState state = describe(*view, context, name);
  state.ever_taken = true;
  return std::optional(std::move(state));
}

LiveLocks look_at_neighbours(const LocalContext& context) {
  LiveLocks live;
  if (geteuid() != 0 || !context.settings.directory.empty()) return live;
  for (const Neighbour& neighbour : neighbours()) add(live, neighbour, context);
  return live;
}

}  // namespace dlock::local
