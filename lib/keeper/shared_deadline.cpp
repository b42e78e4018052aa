// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/shared_deadline.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dlock {
namespace {

constexpr std::size_t kSize = 4096;
/// Nobody can take the page away from under whoever reads it, which would end that process.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

void SharedDeadline::Unmap::operator()(Page* page) const { munmap(page, kSize); }

std::optional<SharedDeadline> SharedDeadline::make() {
  UniqueFd fd(memfd_create("dlock-deadline", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), kSize) != 0 || fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return std::nullopt;
  return map(std::move(fd));
}

std::optional<SharedDeadline> SharedDeadline::open(UniqueFd descriptor) {
  if (fcntl(descriptor.get(), F_GET_SEALS) != kSeals) return std::nullopt;
  return map(std::move(descriptor));
}

std::optional<SharedDeadline> SharedDeadline::map(UniqueFd fd) {
  void* page = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return std::nullopt;
  return SharedDeadline(std::move(fd), static_cast<Page*>(page));
}

std::optional<TimePoint> SharedDeadline::shown() const {
  const Duration since(page_->load(std::memory_order_acquire));
  return since > Duration(0) ? std::optional(TimePoint(since)) : std::nullopt;
}

}  // namespace dlock
