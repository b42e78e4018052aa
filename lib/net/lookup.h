// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/call_limit.h"
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

  /// Waits for take(). Unavailable too when the time is over; Cancelled.
  Result<std::vector<Address>> finish(Clock& clock, const CallLimit& limit);

 private:
  struct Shared;
  explicit Lookup(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

/// Where `host` is: known_addresses(), or a look-up that has an end. Errors as of Lookup, naming the server.
Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, Clock& clock, const CallLimit& limit);

}  // namespace dlock
