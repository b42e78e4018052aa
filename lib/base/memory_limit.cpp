// SPDX-License-Identifier: Apache-2.0
#include "lib/base/memory_limit.h"

#include <sys/resource.h>

#include <new>

namespace dlock {
namespace {

std::optional<rlimit> before;  ///< the limit that limit_memory() has replaced

}  // namespace

void limit_memory(std::size_t bytes) {
#ifndef DLOCK_SANITIZED  // a sanitizer reserves terabytes
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur <= bytes) return;
  const rlimit own{bytes, limit.rlim_max};
  if (setrlimit(RLIMIT_AS, &own) == 0) before = limit;
#else
  static_cast<void>(bytes);
#endif
}

void lift_memory_limit() {
  if (before) setrlimit(RLIMIT_AS, &*before);
}

std::optional<std::size_t> allowed_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string failure_text(const std::exception& failure) {
  if (!dynamic_cast<const std::bad_alloc*>(&failure)) return failure.what();
  const auto allowed = allowed_memory();
  return allowed ? "out of memory: it may use " + mebibytes(*allowed) : "out of memory";
}

}  // namespace dlock
