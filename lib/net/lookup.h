// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/net/addresses.h"

namespace dlock {

/// Looks a host's name up in a thread of its own, because getaddrinfo(3) can neither be polled nor stopped. If this is
/// destroyed before the answer, the thread goes on alone; the data that both share live as long as either.
class Lookup {
 public:
  /// System if no thread or descriptor can be made.
  static Result<Lookup> start(const std::string& host, std::uint16_t port);

  int fd() const;  ///< readable once take() has a result

  /// The addresses; nullopt: not known yet. Unavailable: there is no such host, or no name server answers.
  std::optional<Result<std::vector<Address>>> take();

 private:
  struct Shared;
  explicit Lookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace dlock
