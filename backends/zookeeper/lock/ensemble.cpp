// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/ensemble.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "lib/base/random.h"
#include "lib/config/secret.h"
#include "lib/lock/lease.h"
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

Result<void> check_user(const BackendUrl& url) {
  if (!url.user.empty() && url.password.empty()) {
    return Error{ErrorCode::kMisconfigured, url.redacted() + " names a user, and there is no password for it",
                 "set DLOCK_PASSWORD, or add ?password-file=FILE"};
  }
  if (url.user.empty() && !url.password.empty()) {
    BackendUrl shown = url;
    shown.password.clear();
    return Error{
        ErrorCode::kMisconfigured,
        "there is a password (DLOCK_PASSWORD, password-file), and " + shown.redacted() + " names no user for it",
        "write zk://USER@HOST, or unset the password"};
  }
  return {};
}

/// Each is a thread with a stack of its own, for which a keeper's memory has room some forty times.
constexpr std::size_t kLookupsAtOnce = 16;

constexpr Duration kThreadsEnd = std::chrono::seconds(1);
constexpr Duration kThreadPause = std::chrono::milliseconds(5);

std::string digest_of(const Settings& settings) {
  return settings.user.empty() ? std::string() : settings.user + ":" + settings.password;
}

/// Threads that have answered may still have their stacks.
Result<Lookup> begin(const Endpoint& server, TimePoint until, Clock& clock, Control* control) {
  until = std::min(until, clock.now() + kThreadsEnd);
  while (true) {
    auto lookup = Lookup::start(server.host, server.port);
    if (lookup || clock.now() >= until || (control != nullptr && control->stop_requested())) return lookup;
    rest(clock, std::min(until, clock.now() + kThreadPause), control);
  }
}

constexpr Duration kAskNamesAgain = std::chrono::seconds(1);
constexpr Duration kReadAgain = std::chrono::minutes(1);

bool are_same(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::set<std::string>(some.begin(), some.end()) == std::set<std::string>(others.begin(), others.end());
}

}  // namespace

Result<Settings> settings_of(const BackendUrl& url) {
  Settings settings;
  settings.recipe = recipe_of(url);
  settings.store = url.redacted();
  settings.root = url.path;
  while (settings.root.ends_with('/')) settings.root.pop_back();
  if (!is_root(settings.root)) {
    return Error{ErrorCode::kMisconfigured, "the path of " + settings.store + " is not that of a node",
                 "write it as /app/locks: no empty parts, no '.' and no '..'"};
  }
  TRY(check_user(url));
  settings.user = url.user;
  settings.password = url.password;
  settings.password_file = url.param("password-file");
  settings.hosts = endpoints(url);
  return settings;
}

void ServerClock::move_to_ours(LockState& state, Calls& calls, TimePoint until, Control* control) {
  if (state.holders.empty() && state.waiters.empty()) return;
  if (calls.clock().now() >= read_again_at_) read(calls, until, control);
  if (theirs_) move_to_our_clock(state, *theirs_, asked_, answered_);
}

WallTime ServerClock::now(Calls& calls, TimePoint until, Control* control) {
  const TimePoint now = calls.clock().now();
  if (now >= read_again_at_) read(calls, until, control);
  if (!theirs_) return calls.clock().wall();
  return *theirs_ + std::chrono::floor<std::chrono::microseconds>(calls.clock().now() - read_at_);
}

void ServerClock::read(Calls& calls, TimePoint until, Control* control) {
  const std::string path = own_directory(root_, "clock-" + random_hex(8));
  const Change creation = create_node(path, "", NodeKind::kEphemeral);
  const WallTime asked = calls.clock().wall();
  const auto created = calls.call(ask_creation(creation), until, control);
  read_again_at_ = calls.clock().now() + kReadAgain;
  if (!created || created->code != Code::kOk) return;
  seen(WallTime(std::chrono::milliseconds(created->changed.front().stat.ctime)), calls.clock());
  asked_ = asked;
  calls.forget(calls.send(ask_change({delete_node(path)})));
}

void ServerClock::seen(WallTime stamp, Clock& ours) {
  theirs_ = stamp;
  asked_ = answered_ = ours.wall();
  read_at_ = ours.now();
  read_again_at_ = read_at_ + kReadAgain;
}

Duration timeout_to_ask(Duration ttl, Duration lock_delay) { return ttl + ttl / 2 + lock_delay; }

Duration lease_within(Duration granted, Duration ttl, Duration lock_delay) {
  return std::min(ttl, (granted - lock_delay) / 3 * 2);
}

TimePoint believed_until(TimePoint sent, TimePoint previous, Duration granted, Duration ttl, Duration lock_delay) {
  const TimePoint lease_ends = lease_deadline(sent, lease_within(granted, ttl, lock_delay));
  const TimePoint session_ends = lease_deadline(previous, granted - lock_delay);
  return std::min(lease_ends, session_ends);
}

/// Looks the names of a URL up again, once a second. Single-threaded.
class MovingServers {
 public:
  /// `addresses`: what was found at `now`.
  MovingServers(std::vector<Endpoint> hosts, std::vector<std::string> addresses, TimePoint now);

  const std::vector<std::string>& addresses() const { return addresses_; }  ///< as they were found last
  /// The addresses if they are others than before. To be called again and again while there is no connection; does not
  /// block.
  std::optional<std::vector<std::string>> look(TimePoint now);

 private:
  void start();
  void collect();

  const std::vector<Endpoint> hosts_;
  std::vector<std::string> addresses_;
  TimePoint asked_at_;
  std::vector<Lookup> asked_;       ///< those that have not been answered yet
  std::vector<std::string> fresh_;  ///< answers of the others
  bool complete_ = true;            ///< each host had an address
};

MovingServers::MovingServers(std::vector<Endpoint> hosts, std::vector<std::string> addresses, TimePoint now)
    : hosts_(std::move(hosts)), addresses_(std::move(addresses)), asked_at_(now) {}

void MovingServers::start() {
  fresh_.clear();
  complete_ = true;
  for (const Endpoint& server : hosts_) {
    const auto known = known_addresses(server.host, server.port);
    for (const Address& address : known) fresh_.push_back(server_text(address.get()));
    if (!known.empty()) continue;
    auto lookup = Lookup::start(server.host, server.port);
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

Result<Ensemble> Ensemble::of(const BackendUrl& url, Clock& clock, OpenSession open) {
  TRY_ASSIGN(auto settings, settings_of(url));
  return Ensemble(std::move(settings), clock, std::move(open));
}

Result<std::vector<std::string>> Ensemble::addresses(TimePoint until, Control* control) {
  if (moving_) return moving_->addresses();
  if (!addresses_.empty()) return addresses_;
  Error last{ErrorCode::kUnavailable, "no host has an address"};
  std::vector<std::string> all;
  std::size_t names = 0;
  std::vector<std::pair<const Endpoint*, Lookup>> lookups;
  const Endpoint* const last_server = &settings_->hosts.back();
  for (const Endpoint& server : settings_->hosts) {
    const auto known = known_addresses(server.host, server.port);
    for (const Address& address : known) all.push_back(server_text(address.get()));
    if (known.empty()) {
      TRY_ASSIGN(auto lookup, begin(server, until, *clock_, control));
      lookups.emplace_back(&server, std::move(lookup));
      ++names;
    }
    if (lookups.size() < kLookupsAtOnce && &server != last_server) continue;
    for (auto& [asked, pending] : lookups) {
      const auto found = pending.finish(*clock_, {until, control});
      if (!found) {
        last = found.error();
        last.message = "cannot reach " + asked->host + ": " + last.message;
        if (last.code == ErrorCode::kCancelled) return last;
        continue;
      }
      for (const Address& address : *found) all.push_back(server_text(address.get()));
    }
    lookups.clear();
  }
  if (all.empty()) return last;
  addresses_ = std::move(all);
  if (names > 0 && names <= kLookupsAtOnce) {
    moving_ = std::make_shared<MovingServers>(settings_->hosts, addresses_, clock_->now());
  }
  return addresses_;
}

Result<std::unique_ptr<Calls>> Ensemble::connect(Duration timeout, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto servers, addresses(until, control));
  auto calls = open({servers, digest_of(*settings_), timeout, std::nullopt});
  if (calls && moving_) (*calls)->find_servers_by([moving = moving_](TimePoint now) { return moving->look(now); });
  return calls;
}

Result<void> Ensemble::ask_anew(Calls& calls, Duration timeout, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto servers, addresses(until, control));
  calls.session().abandon();  // before there is another one of ours with these servers
  TRY_ASSIGN(auto session, open_({servers, digest_of(*settings_), timeout, calls.key()}));
  calls.take_up_in(std::move(session));
  return {};
}

Result<std::unique_ptr<Calls>> Ensemble::open(const SessionSettings& settings) {
  TRY_ASSIGN(auto session, open_(settings));
  auto calls =
      std::make_unique<Calls>(std::move(session), settings_->store, *clock_, static_cast<int>(settings.servers.size()));
  calls->log_in_by([shared = settings_]() -> std::optional<std::string> {
    auto password = rotated_password(shared->password_file, shared->password);
    if (!password) return std::nullopt;
    shared->password = std::move(*password);
    return digest_of(*shared);
  });
  return calls;
}

}  // namespace dlock::zookeeper
