// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/servers.h"

#include "lib/config/secret.h"
#include "lib/net/lookup.h"

namespace dlock::postgres {

Error Servers::failed(const Failure& failure) {
  Error error = error_of(failure, server());
  if (is_read_only(failure)) one_.pass_over();
  else if (failure.cut_off) close();
  return error;
}

Servers::Opened Servers::open_at(std::size_t index, const Address* address, bool writable, const CallLimit& limit) {
  const Endpoint& endpoint = settings_.servers[index];
  auto opened = Connection::open(settings_, endpoint, address, writable, clock_, limit);
  if (auto* connection = std::get_if<0>(&opened)) return std::move(*connection);
  if (limit.control && limit.control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
  const Failure& failure = std::get<1>(opened);
  only_reads_ = is_read_only(failure);
  if (is_refused_login(failure)) {
    if (auto password = rotated_password(settings_.password_file, settings_.password)) {
      settings_.password = std::move(*password);
      return open_at(index, address, writable, limit);
    }
  }
  return error_of(failure, endpoint.text());
}

/// libpq would look names up by getaddrinfo(3), which nobody can stop, and give all of the time to one silent address.
/// One name may be that of a primary and its standbys; if it has no primary, a standby answers who only asks, and who
/// has had the primary waits for the next one.
Servers::Opened Servers::open(std::size_t index, const CallLimit& limit) {
  const Endpoint& endpoint = settings_.servers[index];
  const bool several = settings_.servers.size() > 1;
  if (!endpoint.socket.empty()) return open_at(index, nullptr, several, limit);
  TRY_ASSIGN(const auto addresses, addresses_of(endpoint, clock_, limit));
  const Address* reads = nullptr;
  for (std::size_t left = addresses.size();; --left) {
    const Address* address = &addresses[addresses.size() - left];
    const std::size_t shares = left + (reads ? 1 : 0);
    auto opened = open_at(index, address, several || addresses.size() > 1, share_of(limit, clock_.now(), shares));
    if (opened) had_primary_ = true;
    if (opened || opened.error().code != ErrorCode::kUnavailable) return opened;
    if (only_reads_) reads = address;
    if (left > 1) continue;
    if (!reads || several || had_primary_) return opened;
    return open_at(index, reads, false, limit);
  }
}

Result<Connection*> Servers::connect(const CallLimit& limit) {
  return one_.connect(limit, [this](std::size_t index, const CallLimit& share) { return open(index, share); });
}

Result<Answer> Servers::run(const std::string& statement, const std::vector<std::string>& params,
                            const CallLimit& limit) {
  while (true) {
    TRY_ASSIGN(const auto connection, connect(limit));
    AnswerOrFailure outcome = connection->ask(statement, params, limit);
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
    const Failure& failure = std::get<Failure>(outcome);
    const bool stopped = limit.control && limit.control->stop_requested();
    if (!is_worth_repeating(failure) || stopped || clock_.now() >= limit.until) return failed(failure);
  }
}

Result<bool> Servers::is_pooled(const CallLimit& limit) {
  TRY_ASSIGN(const auto found, run("SELECT pg_backend_pid()", {}, limit));
  return !current() || found.empty() || text_of(found.front(), 0) != std::to_string(current()->backend());
}

}  // namespace dlock::postgres
