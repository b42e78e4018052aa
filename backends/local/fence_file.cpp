// SPDX-License-Identifier: Apache-2.0
#include "backends/local/fence_file.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/checksum.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/patience.h"

namespace dlock::local {
namespace {

/// Takes the resource's byte. A look every few milliseconds, because checks are short and their order does not matter.
Result<void> enter(LocalContext& context, int fd, const LockName& resource, const WaitPolicy& wait) {
  constexpr Range kCheck{0, 0};
  Patience patience(wait);
  Duration pause = std::chrono::microseconds(200);
  while (true) {
    const int failed = try_write_lock(fd, kCheck);
    if (failed == 0) return {};
    if (failed != EAGAIN && failed != EACCES)
      return system_error("cannot lock the fence of " + resource.text(), failed);
    const TimePoint now = context.runtime.clock.now();
    if (!patience.may_try_again(now)) {
      return Error{ErrorCode::kBusy, "another check of " + resource.text() + " is under way",
                   "wait longer with --wait"};
    }
    pause = std::min<Duration>(2 * pause, std::chrono::milliseconds(20));
    std::vector<pollfd> nothing;
    const auto end = patience.wait_end(now);
    context.runtime.clock.wait(nothing, patience.queues() ? earlier(now + pause, end) : end);
  }
}

Error damaged(const LockDir& fences, const std::string& file_name, const LockName& resource, const std::string& why) {
  const std::string path = fences.path() + "/" + file_name;
  return {ErrorCode::kMisconfigured, "the fence file " + path + " of " + resource.text() + " is damaged: " + why,
          "find out the highest token ever used for it (dlock inspect shows a lock's); then: rm " + shell_word(path) +
              " and: dlock fence " + resource.typed() + " THAT_TOKEN"};
}

/// Both slots as they are; bytes that are not there count as zeros.
Result<void> read_slots(int fd, const LockName& resource, FenceSlot (&slots)[2]) {
  for (int i = 0; i < 2; ++i) {
    std::memset(static_cast<void*>(&slots[i]), 0, sizeof slots[i]);
    if (pread(fd, &slots[i], sizeof slots[i], i * kFenceSlotDistance) < 0) {
      return system_error("cannot read the fence of " + resource.text(), errno);
    }
  }
  return {};
}

bool blank(const FenceSlot& slot) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&slot);
  return std::all_of(bytes, bytes + sizeof slot, [](unsigned char byte) { return byte == 0; });
}

int first_slot(std::uint64_t generation) { return generation % 2 == 1 ? 0 : 1; }

Result<void> write_slot(int fd, const FenceSlot& slot, int index, const LockName& resource) {
  const ssize_t n = pwrite(fd, &slot, sizeof slot, index * kFenceSlotDistance);
  if (n == sizeof slot) return {};
  return system_error("cannot write the fence of " + resource.text(), n < 0 ? errno : ENOSPC);
}

/// Promised when the first copy is on the disk: the other one then still has what was promised before.
Result<void> remember(int fd, const LockName& resource, std::uint64_t generation, FencingToken token) {
  FenceSlot slot;
  slot.token = token.value();
  slot.generation = generation;
  slot.key_size = static_cast<std::uint32_t>(resource.text().size());
  std::memcpy(slot.key, resource.text().data(), resource.text().size());
  seal(slot);
  const int first = first_slot(generation);
  if (const auto written = write_slot(fd, slot, first, resource); !written) return written;
  if (fdatasync(fd) != 0) return system_error("cannot sync the fence of " + resource.text(), errno);
  return write_slot(fd, slot, 1 - first, resource);
}

/// 0, or errno: gives the file its name unless there is one of that name.
int name_file(const LockDir& fences, const std::string& from, const std::string& to) {
  if (renameat2(fences.fd(), from.c_str(), fences.fd(), to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without RENAME_NOREPLACE: link(2) refuses a name that is there, too.
  if (linkat(fences.fd(), from.c_str(), fences.fd(), to.c_str(), 0) != 0) return errno;
  return unlinkat(fences.fd(), from.c_str(), 0) == 0 ? 0 : errno;
}

/// A file with the first token in it. Another process that makes one at the same time may be faster: then its file
/// counts.
Result<void> make_file(const LockDir& fences, const std::string& name, const LockName& resource, FencingToken token) {
  const std::string unnamed = name + "." + random_hex(8) + ".new";
  TRY_ASSIGN(const auto fd, fences.open_file(unnamed, true));
  auto made = remember(fd.get(), resource, 1, token);
  if (made) {
    const int failed = name_file(fences, unnamed, name);
    if (failed == 0) {
      // The name must survive a crash as well as the content.
      return fsync(fences.fd()) == 0 ? Result<void>() : system_error("cannot sync " + fences.path(), errno);
    }
    if (failed != EEXIST) made = system_error("cannot name the fence of " + resource.text(), failed);
  }
  unlinkat(fences.fd(), unnamed.c_str(), 0);
  return made;
}

Result<UniqueFd> open_file(const LockDir& fences, const std::string& name, const LockName& resource,
                           FencingToken token) {
  auto fd = fences.open_file(name, false);
  if (!fd || fd->valid()) return fd;
  TRY(make_file(fences, name, resource, token));
  fd = fences.open_file(name, false);
  if (!fd || fd->valid()) return fd;
  return Error{ErrorCode::kConflict, "the fence file of " + resource.text() + " was removed while it was created",
               "try again"};
}

}  // namespace

void seal(FenceSlot& slot) { slot.checksum = checksum_of(slot); }

bool sound(const FenceSlot& slot) {
  return slot.checksum == checksum_of(slot) && slot.token != 0 && slot.generation != 0 && slot.key_size >= 1 &&
         slot.key_size <= 255;
}

FenceVerdict judge(const FenceSlot (&slots)[2], std::string_view key) {
  for (const FenceSlot& slot : slots) {
    if (!sound(slot)) continue;
    const std::string_view text(slot.key, slot.key_size);
    if (text != key) return {0, "it belongs to '" + std::string(text) + "'"};
  }
  if (!sound(slots[0]) && !sound(slots[1])) {
    return {0, blank(slots[0]) && blank(slots[1]) ? "it was emptied" : "both copies are damaged"};
  }
  for (int i = 0; i < 2; ++i) {
    if (sound(slots[i])) continue;
    // Only the first token of all can be alone: its copy was still to be written.
    const FenceSlot& other = slots[1 - i];
    if (blank(slots[i]) && other.generation == 1) return {1 - i, {}};
    return {0, "one of its two copies is damaged"};
  }
  const int newer = slots[1].generation > slots[0].generation ? 1 : 0;
  const FenceSlot& high = slots[newer];
  const FenceSlot& low = slots[1 - newer];
  const bool same = high.generation == low.generation;
  const bool next = high.generation == low.generation + 1;
  if (same ? high.token == low.token : next && high.token > low.token) return {newer, {}};
  return {0, "its two copies contradict each other"};
}

Result<UniqueFd> fence(LocalContext& context, const LockName& resource, FencingToken token, const WaitPolicy& wait) {
  TRY_ASSIGN(const auto dir, context.directory());
  TRY_ASSIGN(const auto fences, dir->inside("fence"));
  const std::string file_name = hashed_name(resource.text()) + ".fence";
  auto fd = open_file(fences, file_name, resource, token);
  if (!fd) return fd;
  TRY(enter(context, fd->get(), resource, wait));
  FenceSlot slots[2];
  TRY(read_slots(fd->get(), resource, slots));
  const FenceVerdict verdict = judge(slots, resource.text());
  if (!verdict.damage.empty()) return damaged(fences, file_name, resource, verdict.damage);
  const FenceSlot& before = slots[verdict.current];
  if (token.value() < before.token) return token_too_old(resource, token, std::to_string(before.token));
  if (token.value() > before.token) {
    TRY(remember(fd->get(), resource, before.generation + 1, token));
  }
  return fd;
}

}  // namespace dlock::local
