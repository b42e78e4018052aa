// SPDX-License-Identifier: Apache-2.0
#include "backends/local/fence_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/local/byte_locks.h"
#include "backends/local/checksum.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

/// Takes the resource's byte. A look every few milliseconds, because checks are short and their order does not matter.
Result<void> enter(LocalContext& context, int fd, const LockName& resource, const WaitPolicy& wait) {
  constexpr Range kCheck{0, 0};
  Duration pause = std::chrono::microseconds(200);
  for (int tried = 1;; ++tried) {
    const int failed = try_write_lock(fd, kCheck);
    if (failed == 0) return {};
    if (failed != EAGAIN && failed != EACCES)
      return system_error("cannot lock the fence of " + resource.text(), failed);
    const TimePoint now = context.runtime.clock.now();
    if (wait.once || (wait.tries > 0 && tried >= wait.tries) || (wait.until && now >= *wait.until)) {
      return Error{ErrorCode::kBusy, "another check of " + resource.text() + " is under way",
                   "wait longer with --wait"};
    }
    pause = wait.tries > 0 ? wait.retry_interval : std::min<Duration>(2 * pause, std::chrono::milliseconds(20));
    std::vector<pollfd> nothing;
    context.runtime.clock.wait(nothing, earlier(now + pause, wait.until));
  }
}

Error damaged(const LockName& resource, const std::string& why) {
  return {ErrorCode::kMisconfigured, "the fence file of " + resource.text() + " is damaged: " + why,
          "only who knows the highest token ever used may remove it"};
}

struct Remembered {
  std::uint64_t token = 0;
  std::uint64_t generation = 0;
  int next_slot = 0;
};

Result<Remembered> recall(int fd, const LockName& resource) {
  FenceSlot slots[2];
  ssize_t size = 0;
  for (int i = 0; i < 2; ++i) {
    std::memset(static_cast<void*>(&slots[i]), 0, sizeof slots[i]);
    const ssize_t n = pread(fd, &slots[i], sizeof slots[i], i * kFenceSlotDistance);
    if (n < 0) return system_error("cannot read the fence of " + resource.text(), errno);
    size += n;
  }
  const auto current = current_slot(slots);
  if (!current) {
    // A crash before the first sync of a new file leaves nothing, or zeros where nothing was promised yet.
    const auto* bytes = reinterpret_cast<const unsigned char*>(slots);
    if (size == 0 || std::all_of(bytes, bytes + sizeof slots, [](unsigned char b) { return b == 0; })) {
      return Remembered{};
    }
    return damaged(resource, "neither copy adds up");
  }
  const FenceSlot& slot = slots[*current];
  if (std::string_view(slot.key, slot.key_size) != resource.text()) {
    return damaged(resource, "it belongs to '" + std::string(slot.key, slot.key_size) + "'");
  }
  return Remembered{slot.token, slot.generation, 1 - *current};
}

Result<void> remember(int fd, const LockName& resource, const Remembered& before, FencingToken token) {
  FenceSlot slot;
  slot.token = token.value();
  slot.generation = before.generation + 1;
  slot.key_size = static_cast<std::uint32_t>(resource.text().size());
  std::memcpy(slot.key, resource.text().data(), resource.text().size());
  seal(slot);
  const ssize_t n = pwrite(fd, &slot, sizeof slot, before.next_slot * kFenceSlotDistance);
  if (n != sizeof slot) return system_error("cannot write the fence of " + resource.text(), n < 0 ? errno : ENOSPC);
  if (fdatasync(fd) != 0) return system_error("cannot sync the fence of " + resource.text(), errno);
  return {};
}

}  // namespace

void seal(FenceSlot& slot) { slot.checksum = checksum_of(slot); }

bool sound(const FenceSlot& slot) {
  return slot.checksum == checksum_of(slot) && slot.token != 0 && slot.generation != 0 && slot.key_size >= 1 &&
         slot.key_size <= 255;
}

std::optional<int> current_slot(const FenceSlot (&slots)[2]) {
  const bool first = sound(slots[0]);
  const bool second = sound(slots[1]);
  if (!first && !second) return std::nullopt;
  if (!first) return 1;
  if (!second) return 0;
  return slots[1].generation > slots[0].generation ? 1 : 0;
}

Result<UniqueFd> fence(LocalContext& context, const LockName& resource, FencingToken token, const WaitPolicy& wait) {
  const auto dir = context.directory();
  if (!dir) return dir.error();
  const auto fences = (*dir)->inside("fence");
  if (!fences) return fences.error();
  const std::string file_name = hashed_name(resource.text()) + ".fence";
  auto fd = fences->open_file(file_name, true);
  if (!fd) return fd.error();
  if (const auto entered = enter(context, fd->get(), resource, wait); !entered) return entered.error();
  const auto before = recall(fd->get(), resource);
  if (!before) return before.error();
  if (token.value() < before->token) {
    return Error{ErrorCode::kLost,
                 "token " + token.text() + " is too old for " + resource.text() + ": " + std::to_string(before->token) +
                     " was here already",
                 "somebody else got the lock in between: stop"};
  }
  if (token.value() > before->token) {
    if (const auto written = remember(fd->get(), resource, *before, token); !written) return written.error();
    // The name must survive a crash as well as the content.
    if (before->generation == 0 && fsync(fences->fd()) != 0) {
      return system_error("cannot sync the directory " + fences->path(), errno);
    }
  }
  return std::move(*fd);
}

}  // namespace dlock::local
