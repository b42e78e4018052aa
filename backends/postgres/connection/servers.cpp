// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/servers.h"

#include "lib/config/secret.h"
#include "lib/net/lookup.h"

namespace dlock::postgres {
namespace {

/// The rest of the time, shared by those that were not asked yet.
CallLimit share(const CallLimit& limit, TimePoint now, std::size_t left) {
  return {left <= 1 ? limit.until : now + (limit.until - now) / static_cast<std::int64_t>(left), limit.control};
}

/// A server that starts or ends has answered nothing.
bool has_answered(const Failure& failure) {
  return !failure.state.empty() && !failure.state.starts_with("57P") && !failure.state.starts_with("08");
}

Error cancelled() { return {ErrorCode::kCancelled, "given up on request"}; }

/// libpq would look names up by getaddrinfo(3), which nobody can stop.
Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, Clock& clock, const CallLimit& limit) {
  auto known = known_addresses(endpoint.host, endpoint.port);
  if (!known.empty()) return known;
  TRY_ASSIGN(auto lookup, Lookup::start(endpoint.host, endpoint.port));
  while (true) {
    if (auto found = lookup.take()) return std::move(*found);
    if (limit.control && limit.control->stop_requested()) return cancelled();
    if (clock.now() >= limit.until) return Error{ErrorCode::kUnavailable, "the name service does not answer"};
    std::vector<pollfd> fds{{lookup.fd(), POLLIN, 0}};
    if (limit.control) limit.control->add_interest(fds);
    clock.wait(fds, limit.until);
  }
}

}  // namespace

Error Servers::failed(const Failure& failure) {
  Error error = error_of(failure, server());
  if (failure.cut_off || is_read_only(failure)) close();
  if (is_read_only(failure)) at_ = (at_ + 1) % settings_.servers.size();
  return error;
}

Servers::Opened Servers::open_at(std::size_t index, const Address* address, const CallLimit& limit) {
  const Endpoint& endpoint = settings_.servers[index];
  auto opened = Connection::open(settings_, endpoint, address, settings_.servers.size() > 1, clock_, limit);
  if (auto* connection = std::get_if<0>(&opened)) return std::move(*connection);
  if (limit.control && limit.control->stop_requested()) return cancelled();
  const Failure& failure = std::get<1>(opened);
  has_refused_ = has_answered(failure);
  if (is_refused_login(failure)) {
    if (auto password = rotated_password(settings_.password_file, settings_.password)) {
      settings_.password = std::move(*password);
      return open_at(index, address, limit);
    }
  }
  return error_of(failure, endpoint.text());
}

/// libpq would give all of the time to one silent address.
Servers::Opened Servers::open(std::size_t index, const CallLimit& limit) {
  const Endpoint& endpoint = settings_.servers[index];
  if (!endpoint.socket.empty()) return open_at(index, nullptr, limit);
  auto addresses = addresses_of(endpoint, clock_, limit);
  if (!addresses) {
    Error error = addresses.error();
    if (error.code != ErrorCode::kCancelled) error.message = "cannot reach " + endpoint.text() + ": " + error.message;
    return error;
  }
  Opened opened = Error{ErrorCode::kUnavailable, endpoint.text() + " has no address"};
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    opened = open_at(index, &(*addresses)[i], share(limit, clock_.now(), addresses->size() - i));
    if (opened || opened.error().code != ErrorCode::kUnavailable) break;
  }
  return opened;
}

Result<Connection*> Servers::connect(const CallLimit& limit) {
  if (connection_ && connection_->usable()) return connection_.get();
  close();
  std::string reasons;
  std::optional<Error> error;
  const std::size_t first = at_, count = settings_.servers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (first + i) % count;
    auto opened = open(index, share(limit, clock_.now(), count - i));
    if (opened) {
      at_ = index;
      connection_ = std::move(*opened);
      ++generation_;
      return connection_.get();
    }
    if (opened.error().code == ErrorCode::kCancelled) return opened.error();
    reasons += (reasons.empty() ? "" : "; ") + opened.error().message;
    if (!error || error->code == ErrorCode::kUnavailable) error = opened.error();
  }
  error->message = reasons;
  return *error;
}

Result<Answer> Servers::run(const std::string& statement, const std::vector<std::string>& params,
                            const CallLimit& limit) {
  while (true) {
    TRY_ASSIGN(const auto connection, connect(limit));
    AnswerOrFailure outcome = connection->ask(statement, params, limit);
    has_refused_ = false;
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::move(*answer);
    const Failure& failure = std::get<Failure>(outcome);
    has_refused_ = has_answered(failure);
    const bool stopped = limit.control && limit.control->stop_requested();
    if (!is_worth_repeating(failure) || stopped || clock_.now() >= limit.until) return failed(failure);
  }
}

Result<bool> Servers::is_pooled(const CallLimit& limit) {
  TRY_ASSIGN(const auto found, run("SELECT pg_backend_pid()", {}, limit));
  return !connection_ || found.empty() || text_of(found.front(), 0) != std::to_string(connection_->backend());
}

}  // namespace dlock::postgres
