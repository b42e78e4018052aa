// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/addresses.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// A host's name being looked up by a thread of its own, because getaddrinfo(3) can neither be polled nor stopped. One
/// that has not answered when the lookup is dropped is left alone: what it shares with us lives as long as the later of
/// the two.
class Lookup {
 public:
  /// System if there is no thread or descriptor to be had.
  static Result<Lookup> start(const std::string& host, std::uint16_t port);

  int fd() const;  ///< readable once take() has something to give

  /// nullopt: not yet. Unavailable: there is no such host, or nobody knows.
  std::optional<Result<std::vector<Address>>> take();

 private:
  struct Shared;
  explicit Lookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace dlock::redis
