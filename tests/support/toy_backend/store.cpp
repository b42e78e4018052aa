// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"

namespace dlock::toy {
namespace {

Entry parse(std::string_view text) {
  Entry entry;
  entry.owner = cut(text, ' ');
  entry.token = leading_number<std::uint64_t>(cut(text, ' '));
  entry.until_us = leading_number<std::int64_t>(text);
  return entry;
}

}  // namespace

std::int64_t us_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

bool Entry::is_held(WallTime now) const { return owner != "-" && until_us > us_of(now); }

Result<bool> ToyStore::change(const LockName& name, const std::function<bool(Entry&)>& change) const {
  const std::string path = directory_ + "/" + hex(name.text()) + ".toy";
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid() || flock(file.get(), LOCK_EX) != 0) return system_error("cannot open " + path, errno);
  char text[256] = "- 0 0";
  if (pread(file.get(), text, sizeof text - 1, 0) < 0) return system_error("cannot read " + path, errno);
  Entry entry = parse(text);
  if (!change(entry)) return false;
  std::string line = entry.owner + " " + std::to_string(entry.token) + " " + std::to_string(entry.until_us) + "\n";
  line.resize(sizeof text - 1, ' ');
  if (pwrite(file.get(), line.data(), line.size(), 0) < 0) return system_error("cannot write " + path, errno);
  return true;
}

Result<LockState> ToyStore::read_state(const LockName& name, const std::string& store, WallTime now) const {
  LockState state{.name = name, .store = store, .holders = {}, .waiters = {}};
  const auto read = change(name, [&](Entry& entry) {
    if (!entry.is_held(now)) return false;
    Participant holder;
    holder.owner = entry.owner;
    holder.token = FencingToken(entry.token);
    holder.until = WallTime(std::chrono::microseconds(entry.until_us));
    state.holders.push_back(std::move(holder));
    return false;
  });
  if (!read) return read.error();
  return state;
}

}  // namespace dlock::toy
