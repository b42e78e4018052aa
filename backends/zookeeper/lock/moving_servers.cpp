// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/moving_servers.h"

#include <set>
#include <utility>

#include "backends/zookeeper/session/server_text.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAskNamesAgain = 1s;

bool are_same(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::set<std::string>(some.begin(), some.end()) == std::set<std::string>(others.begin(), others.end());
}

}  // namespace

MovingServers::MovingServers(std::vector<BackendUrl::Host> hosts, std::vector<std::string> addresses, TimePoint now)
    : hosts_(std::move(hosts)), addresses_(std::move(addresses)), asked_at_(now) {}

void MovingServers::start() {
  fresh_.clear();
  complete_ = true;
  for (const BackendUrl::Host& host : hosts_) {
    const auto known = known_addresses(host.name, host.port);
    for (const Address& address : known) fresh_.push_back(server_text(address.get()));
    if (!known.empty()) continue;
    auto lookup = Lookup::start(host.name, host.port);
    if (lookup) asked_.push_back(std::move(*lookup));
    else complete_ = false;
  }
}

void MovingServers::collect() {
  std::vector<Lookup> silent;
  for (Lookup& lookup : asked_) {
    const auto found = lookup.take();
    if (!found) {
      silent.push_back(std::move(lookup));
      continue;
    }
    const bool has_some = *found && !(*found)->empty();
    complete_ = complete_ && has_some;
    if (!has_some) continue;
    for (const Address& address : **found) fresh_.push_back(server_text(address.get()));
  }
  asked_ = std::move(silent);
}

/// A host that has no address now may be where it was: then the old ones are tried as well.
std::optional<std::vector<std::string>> MovingServers::look(TimePoint now) {
  if (asked_.empty()) {
    if (now < asked_at_ + kAskNamesAgain) return std::nullopt;
    asked_at_ = now;
    start();
  }
  collect();
  if (!asked_.empty()) return std::nullopt;
  if (!complete_) {
    for (const std::string& address : addresses_) {
      if (std::set<std::string>(fresh_.begin(), fresh_.end()).count(address) == 0) fresh_.push_back(address);
    }
  }
  if (fresh_.empty() || are_same(fresh_, addresses_)) return std::nullopt;
  addresses_ = fresh_;
  return addresses_;
}

}  // namespace dlock::zookeeper
