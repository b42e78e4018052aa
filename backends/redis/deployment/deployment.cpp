// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/deployment.h"

#include <algorithm>
#include <span>

#include "backends/redis/deployment/redirect.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/config/url_schemes.h"

namespace dlock::redis {
namespace {

/// "host:port", "[::1]:port", or either without a port, which is 0 then.
std::optional<Endpoint> parse_place(std::string_view text) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
  }
  if (host.empty() || host.find('=') != std::string_view::npos) return std::nullopt;
  if (port.empty()) return Endpoint{std::string(host), 0, ""};
  const auto number = whole_number<std::uint16_t>(port.substr(1));
  if (port.front() != ':' || !number || *number == 0) return std::nullopt;
  return Endpoint{std::string(host), *number, ""};
}

Error malformed_map(std::string_view part) {
  return {ErrorCode::kMisconfigured, "address-map has '" + printable(part, 80) + "' in it",
          "write address-map=NAME:PORT=HOST:PORT,..., or NAME=HOST where the ports are the same"};
}

constexpr Duration kFirstRetryPause = std::chrono::milliseconds(10);
constexpr Duration kLongestRetryPause = std::chrono::milliseconds(500);

class Pause {
 public:
  /// False: `until` is here, nothing is waited for. Cancelled if `control` wants it.
  Result<bool> take(Clock& clock, TimePoint until, Control* control) {
    const TimePoint end = std::min(until, clock.now() + next_);
    next_ = std::min(next_ * 2, kLongestRetryPause);
    if (clock.now() >= end) return false;
    if (!rest(clock, end, control)) return Error{ErrorCode::kCancelled, "given up on request"};
    return true;
  }

 private:
  Duration next_ = kFirstRetryPause;
};

class SingleDeployment final : public Deployment {
 public:
  SingleDeployment(ConnectionSettings settings, Clock& clock, Duration connect_timeout)
      : clock_(clock), connect_timeout_(connect_timeout), connection_(std::move(settings)) {}

  Result<std::vector<Reply>> call(const std::string& /*key*/, const std::vector<Command>& commands, TimePoint until,
                                  Control* control) override {
    std::vector<Reply> answered;
    std::span<const Command> left = commands;
    std::optional<Error> busy;  // says more than that the last question found no time
    for (Pause pause;;) {
      const bool was_open = !connection_.is_closed();
      auto replies = call_once(left, until, control);
      refused_ = refused_ && answered.empty();
      if (!replies) return busy && replies.error().code == ErrorCode::kUnavailable ? *busy : replies.error();
      const auto refused = std::find_if(replies->begin(), replies->end(), [&](const Reply& reply) {
        return is_for_later(reply) || (was_open && is_read_only(reply));
      });
      if (answered.empty()) asked_at_ = connection_.asked_at();
      // After a failover the name may belong to another server: the next question looks it up again.
      if (std::any_of(replies->begin(), replies->end(), is_read_only)) connection_.close();
      if (answered.empty() && refused == replies->end()) return replies;
      const std::size_t done = static_cast<std::size_t>(refused - replies->begin());
      std::move(replies->begin(), refused, std::back_inserter(answered));
      if (refused == replies->end()) return answered;
      left = left.subspan(done);  // in order: what follows goes again
      refused_ = answered.empty();
      if (is_read_only(*refused)) continue;
      TRY_ASSIGN(auto paused, pause.take(clock_, until, control));
      busy = not_ready(*refused);
      if (!paused || clock_.now() >= until) return *busy;
    }
  }

  Connection* current(const std::string& /*key*/) override { return connection_.is_closed() ? nullptr : &connection_; }

  Result<std::vector<Connection*>> all_servers(TimePoint /*until*/) override {
    return std::vector<Connection*>{&connection_};
  }

 private:
  Result<std::vector<Reply>> call_once(std::span<const Command> commands, TimePoint until, Control* control) {
    const TimePoint connect_by = std::min(until, clock_.now() + connect_timeout_);
    std::optional<Error> why;  // of an attempt that had its time: says more than that the last one had none
    for (Pause pause;;) {
      auto connected = connect(connection_, clock_, connect_by, control);
      refused_ = !connected;
      if (connected) return ask(connection_, commands, clock_, until, control);
      if (connected.error().code != ErrorCode::kUnavailable || !insists_) return std::move(connected).error();
      if (why && clock_.now() >= connect_by) return *why;
      why = connected.error();
      TRY_ASSIGN(auto paused, pause.take(clock_, connect_by, control));
      if (!paused) return std::move(connected).error();
    }
  }

  Error not_ready(const Reply& reply) const {
    return {ErrorCode::kUnavailable, connection_.settings().endpoint.text() + " is not ready: " + words_of(reply)};
  }

  Clock& clock_;
  Duration connect_timeout_;
  Connection connection_;
};

/// "/3", "/mymaster/3" (of a Sentinel), ?db=3 (of a socket).
std::string_view database_text(const BackendUrl& url, const UrlScheme& scheme, const std::string& db) {
  if (scheme.shape == UrlShape::kSocket) return db;
  std::string_view path = url.path;
  if (scheme.path == UrlPath::kMaster) {
    const std::size_t slash = path.find('/', 1);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash);
  }
  if (path.starts_with('/')) path.remove_prefix(1);
  return scheme.path == UrlPath::kNone ? std::string_view() : path;
}

Result<int> database(const BackendUrl& url, const UrlScheme& scheme) {
  const std::string db = url.param("db");
  const std::string_view text = database_text(url, scheme, db);
  if (text.empty()) return 0;
  const auto number = whole_number<int>(text);
  if (number && *number >= 0) return *number;
  return Error{ErrorCode::kMisconfigured, "there is no database '" + printable(text) + "'", "it is a number, as 0"};
}

/// Without a password nothing is authenticated, and the rights would be those of the default user.
Error user_without_password(const BackendUrl& url) {
  return {
      ErrorCode::kMisconfigured,
      url.redacted() + " names the user " + printable(url.user) + " and there is no password for it",
      "set DLOCK_PASSWORD, or add ?password-file=/path; to be the default user leave " + printable(url.user) + "@ out"};
}

}  // namespace

Result<std::optional<Endpoint>> mapped_endpoint(std::string_view map, const Endpoint& endpoint) {
  std::optional<Endpoint> found;
  bool exact = false;
  while (!map.empty()) {
    const std::string_view part = cut(map, ',');
    std::string_view rest = part;
    const auto name = parse_place(cut(rest, '='));
    const auto place = parse_place(rest);
    if (!name || !place || (name->port == 0) != (place->port == 0)) return malformed_map(part);
    if (name->host != endpoint.host || exact) continue;
    if (name->port == endpoint.port) {
      found = *place;
      exact = true;
    } else if (name->port == 0) {
      found = Endpoint{place->host, endpoint.port, ""};
    }
  }
  return found;
}

Result<ConnectionSettings> connection_settings(const BackendUrl& url, const Endpoint& endpoint, Greet greet) {
  const UrlScheme* scheme = find_url_scheme(url.scheme);
  if (scheme == nullptr || url.family != "redis") {
    return Error{ErrorCode::kInternal, "no Redis scheme: " + url.scheme};
  }
  TRY_ASSIGN(auto number, database(url, *scheme));
  if (!url.user.empty() && url.password.empty()) return user_without_password(url);
  TRY_ASSIGN(auto reached, mapped_endpoint(url.param("address-map"), endpoint));
  ConnectionSettings settings;
  settings.endpoint = endpoint;
  settings.reached = std::move(reached);
  settings.user = url.user;
  settings.password = url.password;
  settings.password_file = url.param("password-file");
  settings.database = number;
  settings.client_name = "dlock";
  if (url.scheme.find('+') == std::string::npos || scheme->shape == UrlShape::kSocket) settings.alone = url.scheme;
  settings.greet = greet;
  if (url.scheme.starts_with("rediss")) {
    TRY_ASSIGN(settings.tls, tls_settings(url));
  }
  return settings;
}

Result<std::unique_ptr<Deployment>> single_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                      Greet greet) {
  Endpoint endpoint;
  const UrlScheme* scheme = find_url_scheme(url.scheme);
  if (scheme != nullptr && scheme->shape == UrlShape::kSocket) {
    endpoint.socket = url.path;
  } else if (!url.hosts.empty()) {
    endpoint = endpoints(url).front();
  } else {
    return Error{ErrorCode::kMisconfigured, "the URL names no server: " + url.redacted()};
  }
  TRY_ASSIGN(auto settings, connection_settings(url, endpoint, greet));
  return std::unique_ptr<Deployment>(std::make_unique<SingleDeployment>(std::move(settings), clock, connect_timeout));
}

Result<std::unique_ptr<Deployment>> redis_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                     Greet greet) {
  if (url.scheme.ends_with("+sentinel")) return sentinel_deployment(url, clock, connect_timeout, greet);
  if (is_redis_cluster(url)) return cluster_deployment(url, clock, connect_timeout, greet);
  return single_deployment(url, clock, connect_timeout, greet);
}

bool is_redis_cluster(const BackendUrl& url) { return url.scheme.ends_with("+cluster"); }

ReplicaDemand redis_replicas(const BackendUrl& url) {
  const std::string wanted = url.param("wait_replicas");
  return {leading_number<int>(wanted), wanted == "all"};
}

}  // namespace dlock::redis
