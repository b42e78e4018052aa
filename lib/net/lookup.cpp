// SPDX-License-Identifier: Apache-2.0
#include "lib/net/lookup.h"

#include <netdb.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "lib/base/signals_blocked.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

struct FreeAddrinfo {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

/// getaddrinfo(3); blocks.
Result<std::vector<Address>> ask(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, FreeAddrinfo> list(status == 0 ? found : nullptr);
  if (status == EAI_SYSTEM) return Error{ErrorCode::kUnavailable, "its name is not known: " + errno_text(errno)};
  if (status == EAI_NONAME || status == EAI_NODATA) {
    return Error{ErrorCode::kUnavailable, "there is no host with that name", "check the name in the URL, and DNS"};
  }
  if (status != 0) return Error{ErrorCode::kUnavailable, std::string("its name is not known: ") + gai_strerror(status)};
  std::vector<Address> addresses;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address& address = addresses.emplace_back();
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  return addresses;
}

}  // namespace

struct Lookup::Shared {
  UniqueFd ready;
  std::atomic<bool> done = false;  ///< `result` is written before, and read after
  std::optional<Result<std::vector<Address>>> result;
};

Result<Lookup> Lookup::start(const std::string& host, std::uint16_t port) {
  auto shared = std::make_shared<Shared>();
  shared->ready = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->ready.valid()) return system_error("cannot look up " + host, errno);
  const SignalsBlocked blocked;
  try {
    std::thread([shared, host, port] {
      shared->result = ask(host, port);
      shared->done = true;
      eventfd_write(shared->ready.get(), 1);
    }).detach();
  } catch (const std::system_error& e) {
    return system_error("cannot look up " + host, e.code().value());
  }
  return Lookup(std::move(shared));
}

int Lookup::fd() const { return shared_->ready.get(); }

std::optional<Result<std::vector<Address>>> Lookup::take() {
  if (!shared_->done) return std::nullopt;
  return std::move(shared_->result);
}

Result<std::vector<Address>> Lookup::finish(Clock& clock, const CallLimit& limit) {
  while (true) {
    if (auto found = take()) return std::move(*found);
    if (limit.control && limit.control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
    if (clock.now() >= limit.until) return Error{ErrorCode::kUnavailable, "the name service does not answer"};
    std::vector<pollfd> fds{{fd(), POLLIN, 0}};
    if (limit.control) limit.control->add_interest(fds);
    clock.wait(fds, limit.until);
  }
}

Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, Clock& clock, const CallLimit& limit) {
  auto known = known_addresses(endpoint.host, endpoint.port);
  if (!known.empty()) return known;
  TRY_ASSIGN(auto lookup, Lookup::start(endpoint.host, endpoint.port));
  auto found = lookup.finish(clock, limit);
  if (found && found->empty()) found = Error{ErrorCode::kUnavailable, "it has no address"};
  if (found || found.error().code == ErrorCode::kCancelled) return found;
  Error error = found.error();
  error.message = "cannot reach " + endpoint.text() + ": " + error.message;
  return error;
}

}  // namespace dlock
