// SPDX-License-Identifier: Apache-2.0
#include "backends/local/admin.h"

#include <unistd.h>

#include <algorithm>

#include "backends/local/files/path_lock.h"
#include "backends/local/view.h"
#include "lib/lock/once_session.h"

namespace dlock::local {

/// The key was not taken through this directory; its file, if it is a path, may be locked all the same.
LockState LocalAdmin::untouched(const LockName& name) const {
  LockState state = describe(View(), context_, name);
  state.ever_taken = !state.holders.empty() || !state.waiters.empty();
  return state;
}

Result<LockState> LocalAdmin::inspect(const LockName& name) {
  auto state = read_state(name);
  if (!state || !state->holders.empty() || !name.is_path()) return state;
  if (const auto told = can_tell_flock_users(name.text()); !told) return told.error();
  return state;
}

Result<LockState> LocalAdmin::read_state(const LockName& name) {
  if (name.is_path() && context_.has_no_directory()) return untouched(name);
  const auto dir = context_.existing_directory();
  if (!dir) return dir.error();
  auto state = *dir ? state_in(**dir, context_, name) : std::optional<LockState>();
  if (!state) return state.error();
  return *state ? std::move(**state) : untouched(name);
}

Result<KnownLocks> LocalAdmin::known_locks() {
  const auto dir = context_.existing_directory();
  if (!dir) return dir.error();
  return *dir ? locks_in(**dir) : KnownLocks();
}

/// A holder of flock(2) on the file of a path key is not asked: that is another lock.
std::vector<Result<LockState>> LocalAdmin::inspect_some(std::span<const LockName> names) {
  std::vector<Result<LockState>> states;
  for (const LockName& name : names) states.push_back(read_state(name));
  return states;
}

/// The kernel takes and gives a lock in no time; what takes its time is the file.
Result<AdminCommon::GiveBack> LocalAdmin::take_for_ping(const LockName& /*name*/) {
  if (const auto written = write_ping_file(context_); !written) return written.error();
  return GiveBack([] { return Result<void>(); });
}

Result<std::vector<Swept>> LocalAdmin::collect_garbage(bool dry_run) {
  const auto dir = context_.existing_directory();
  if (!dir) return dir.error();
  if (!*dir) return std::vector<Swept>();
  const auto names = (*dir)->list(".lock");
  if (!names) return names.error();
  std::vector<Swept> all;
  std::vector<Error> refused;
  std::size_t looked_at = 0;
  for (const std::string& file_name : *names) {
    if (!is_key_file(file_name)) continue;
    ++looked_at;
    auto swept = sweep(file_name, dry_run);
    if (!swept) refused.push_back(swept.error());
    else if (*swept) all.push_back(std::move(**swept));
  }
  if (looked_at > 0 && refused.size() == looked_at) {
    refused.front().message.insert(0, "nothing can be swept in " + store() + ": ");
    return std::move(refused.front());
  }
  for (const Error& error : refused) context_.runtime.log.warn(error.message);
  std::sort(all.begin(), all.end(), [](const Swept& a, const Swept& b) { return a.name < b.name; });
  return all;
}

/// Drops the records of a key without holders and waiters. The file stays, for the tokens; not that of a slot, of which
/// there are many. Who has opened it sees, once it has the guard, that it was removed.
Result<std::optional<Swept>> LocalAdmin::sweep(const std::string& file_name, bool dry_run) {
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  const auto file = LockFile::open_existing(**dir, file_name, {}, true);
  if (!file) return file.error();
  if (!*file) return std::optional<Swept>();
  const auto got = (*file)->try_guard();
  if (!got) return got.error();
  if (!*got) return std::optional<Swept>();
  const Guarded guarded(**file);
  auto header = (*file)->read_header();
  if (!header) return header.error();
  const auto name = LockName::parse((*file)->key().value_or(std::string()));
  const std::size_t records = (*file)->read_records().size();
  const auto view = read_view(**file, name && name->is_path(), context_.runtime.clock.now());
  if (!view) return view.error();
  const bool in_use = !view->holders.empty() || !view->waiters.empty();
  if (!name || in_use) return std::optional<Swept>();
  const bool slot = name->text().find(kOnceMark) != std::string::npos;
  if (slot && (dry_run || unlinkat((*dir)->fd(), file_name.c_str(), 0) == 0)) {
    return std::optional<Swept>(Swept{*name, "the file of a slot that is not remembered"});
  }
  if (records == 0) return std::optional<Swept>();
  if (!dry_run) {
    header->ring = kSmallRing;
    header->next_record = 0;
    if (const auto written = (*file)->write(*header); !written) return written.error();
    if (const auto dropped = (*file)->drop_records(); !dropped) return dropped.error();
  }
  const std::string what = std::to_string(records) + (records == 1 ? " record" : " records") + " of past holders";
  return std::optional<Swept>(Swept{*name, what});
}

}  // namespace dlock::local
