// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/ensemble.h"

#include "backends/zookeeper/session/server_text.h"
#include "lib/config/url_schemes.h"
#include "lib/net/lookup.h"

namespace dlock::zookeeper {
namespace {

bool is_root(std::string_view path) {
  while (!path.empty()) {
    if (path.front() != '/') return false;
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
  }
  return true;
}

/// Waits for a lookup.
Result<std::vector<Address>> finish(Lookup& lookup, TimePoint until, Clock& clock, Control* control) {
  while (true) {
    if (auto found = lookup.take()) return std::move(*found);
    if (control && control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
    if (clock.now() >= until) return Error{ErrorCode::kUnavailable, "the name service does not answer"};
    std::vector<pollfd> fds{{lookup.fd(), POLLIN, 0}};
    if (control) control->add_interest(fds);
    clock.wait(fds, until);
  }
}

}  // namespace

Result<Ensemble> Ensemble::of(const BackendUrl& url, Clock& clock, OpenSession open) {
  Ensemble ensemble(clock);
  ensemble.open_ = std::move(open);
  ensemble.recipe_ = recipe_of(url);
  ensemble.store_ = url.redacted();
  ensemble.root_ = url.path;
  while (ensemble.root_.ends_with('/')) ensemble.root_.pop_back();
  if (!is_root(ensemble.root_)) {
    return Error{ErrorCode::kMisconfigured, "the path of " + ensemble.store_ + " is not that of a node",
                 "write it as /app/locks: no empty parts, no '.' and no '..'"};
  }
  if (!url.user.empty() && url.password.empty()) {
    return Error{ErrorCode::kMisconfigured, ensemble.store_ + " names a user, and there is no password for it",
                 "set DLOCK_PASSWORD, or say ?password-file=FILE"};
  }
  if (url.user.empty() && !url.password.empty()) {
    BackendUrl shown = url;
    shown.password.clear();
    return Error{
        ErrorCode::kMisconfigured,
        "there is a password (DLOCK_PASSWORD, password-file), and " + shown.redacted() + " names no user for it",
        "write zk://USER@HOST, or unset the password"};
  }
  if (!url.user.empty()) ensemble.digest_ = url.user + ":" + url.password;
  const std::uint16_t standard_port = find_url_scheme(url.scheme)->port;
  for (BackendUrl::Host host : url.hosts) {
    if (host.port == 0) host.port = standard_port;
    ensemble.hosts_.push_back(std::move(host));
  }
  return ensemble;
}

Result<std::vector<std::string>> Ensemble::addresses(TimePoint until, Control* control) {
  if (!addresses_.empty()) return addresses_;
  Error last{ErrorCode::kUnavailable, "no host has an address"};
  std::vector<std::pair<const BackendUrl::Host*, Lookup>> lookups;
  for (const BackendUrl::Host& host : hosts_) {
    const auto known = known_addresses(host.name, host.port);
    for (const Address& address : known) addresses_.push_back(server_text(address.get()));
    if (!known.empty()) continue;
    auto lookup = Lookup::start(host.name, host.port);
    if (!lookup) return lookup.error();
    lookups.emplace_back(&host, std::move(*lookup));
  }
  for (auto& [host, lookup] : lookups) {
    const auto found = finish(lookup, until, *clock_, control);
    if (!found) {
      last = found.error();
      last.message = "cannot reach " + host->name + ": " + last.message;
      if (last.code == ErrorCode::kCancelled) return last;
      continue;
    }
    for (const Address& address : *found) addresses_.push_back(server_text(address.get()));
  }
  if (addresses_.empty()) return last;
  return addresses_;
}

Result<std::unique_ptr<Calls>> Ensemble::connect(Duration timeout, const SessionKey* attach, TimePoint until,
                                                 Control* control) {
  const auto servers = addresses(until, control);
  if (!servers) return servers.error();
  return open({*servers, digest_, timeout, attach ? std::optional(*attach) : std::nullopt});
}

Result<std::unique_ptr<Calls>> Ensemble::connect_again(Duration timeout, const SessionKey& attach) {
  return open({{attach.server}, digest_, timeout, attach});
}

Result<std::unique_ptr<Calls>> Ensemble::open(const SessionSettings& settings) {
  auto session = open_(settings);
  if (!session) return session.error();
  return std::make_unique<Calls>(std::move(*session), store_, *clock_);
}

}  // namespace dlock::zookeeper
