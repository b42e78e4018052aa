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
  auto some = look_through(*dir, theirs);
  if (!some) return;
  live.unreadable += some->unreadable;
  for (LockState& state : some->locks) {
    state.directory_of = neighbour.user;
    live.locks.push_back(std::move(state));
  }
}

}  // namespace

bool is_key_file(const std::string& name) { return name.size() == 32 + std::string_view(".lock").size(); }

Result<LiveLocks> look_through(const LockDir& dir, const LocalContext& context) {
  const auto names = dir.list(".lock");
  if (!names) return names.error();
  LiveLocks live;
  for (const std::string& file_name : *names) {
    if (!is_key_file(file_name)) continue;
    const auto file = LockFile::open_existing(dir, file_name, {}, false);
    if (!file) ++live.unreadable;
    if (!file || !*file) continue;
    const auto key = (*file)->key();
    const auto name = LockName::parse(key.value_or(std::string()));
    if (!name || lock_file_name(*name) != file_name) continue;
    const auto view = read_view(**file, name->is_path());
    if (!view) ++live.unreadable;
    if (!view) continue;
    LockState state = describe(*view, context, *name);
    state.ever_taken = true;
    if (!state.holders.empty() || !state.waiters.empty()) live.locks.push_back(std::move(state));
  }
  std::sort(live.locks.begin(), live.locks.end(),
            [](const LockState& a, const LockState& b) { return a.name < b.name; });
  return live;
}

LiveLocks look_at_neighbours(const LocalContext& context) {
  LiveLocks live;
  if (geteuid() != 0 || !context.settings.directory.empty()) return live;
  for (const Neighbour& neighbour : neighbours()) add(live, neighbour, context);
  return live;
}

}  // namespace dlock::local
