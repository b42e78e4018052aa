// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/names.h"
#include "backends/redis/deployment/redirect.h"
#include "backends/redis/wire/connections.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstPause = 20ms;  ///< doubled from try to try
constexpr Duration kLongestPause = 200ms;
constexpr Duration kFirstPatience = 300ms;  ///< with a node that is asked for the map; doubled from look to look
constexpr Duration kMostPatience = 2400ms;
constexpr int kHops = 5;  ///< redirections that are followed at once

struct Attempt {
  TimePoint until;
  Control* control = nullptr;
  Duration pause = kFirstPause;
  Duration patience = kFirstPatience;
  int hops = 0;
  std::optional<Endpoint> ask = {};  ///< where the next try goes, with ASKING, instead of to the owner of the slot
  std::string trouble = {};          ///< the last fault
  std::string next = {};
};

/// A cluster: each slot's master is asked on a connection of its own.
class ClusterDeployment final : public Deployment {
 public:
  ClusterDeployment(const BackendUrl& url, Clock& clock, Duration connect_timeout, Greet greet)
      : seeds_(endpoints(url)),
        clock_(clock),
        connect_timeout_(connect_timeout),
        nodes_([url, greet](const Endpoint& endpoint) { return connection_settings(url, endpoint, greet); }) {}

  Result<std::vector<Reply>> call(const std::string& key, const std::vector<Command>& commands, TimePoint until,
                                  Control* control) override {
    const std::uint16_t slot = key_slot(key);
    Attempt attempt{.until = until, .control = control};
    split_ = false;
    while (true) {
      refused_ = true;
      TRY_ASSIGN(auto node, node_for(slot, attempt));
      refused_ = false;
      const bool asking = attempt.ask.has_value();
      attempt.ask.reset();
      auto replies = send(*node, commands, asking, attempt);
      if (!replies) return lost_on_the_way(std::move(replies).error());
      const PipelineOutcome outcome = judge(commands, *replies);
      asked_at_ = node->asked_at();
      if (outcome.kind == PipelineOutcome::Kind::kAnswered) return replies;
      const Endpoint& asked = node->settings().endpoint;
      attempt.trouble = asked.text() + " says " + words_of((*replies)[outcome.at]);
      const bool redirected = follow((*replies)[outcome.at], outcome.refusal, asked, attempt);
      if (outcome.kind == PipelineOutcome::Kind::kPartly) {
        return outcome_unknown({ErrorCode::kUnavailable, "the slot moved in between: " + attempt.trouble, ""});
      }
      if (redirected && ++attempt.hops <= kHops) continue;
      refused_ = true;
      split_ = leaves_split_ && (*replies)[outcome.at].is_error("TRYAGAIN");
      if (split_) return Error{ErrorCode::kUnavailable, "the slot of its keys moves: " + attempt.trouble, ""};
      TRY(rest(attempt));
    }
  }

  Connection* current(const std::string& key) override {
    const Endpoint* owner = map_.owner(key_slot(key));
    Connection* node = owner == nullptr ? nullptr : nodes_.find(*owner);
    return node == nullptr || node->is_closed() ? nullptr : node;
  }

  Result<std::vector<Connection*>> all_servers(TimePoint until) override {
    Attempt attempt{.until = until};
    while (true) {
      auto refreshed = refresh(attempt);
      if (refreshed) break;
      if (!is_passing(refreshed.error())) return refreshed.error();
      note(attempt, refreshed.error());
      TRY(rest(attempt));
    }
    return nodes_.to_all(map_.masters());
  }

 private:
  static void note(Attempt& attempt, const Error& error) {
    attempt.trouble = error.message;
    attempt.next = error.next;
  }

  TimePoint connect_by(const Attempt& attempt) const {
    return std::min(attempt.until, clock_.now() + connect_timeout_);
  }

  /// The connection to the node in charge, connected. While there is none, the map is asked for again.
  Result<Connection*> node_for(std::uint16_t slot, Attempt& attempt) {
    while (true) {
      const TimePoint silent_at = clock_.now() + attempt.patience;
      auto node = try_node_for(slot, attempt);
      if (node || !is_passing(node.error())) return node;
      if (!insists_ && clock_.now() < silent_at) return node;
      note(attempt, node.error());
      attempt.ask.reset();
      stale_ = true;
      TRY(rest(attempt));
    }
  }

  Result<Connection*> try_node_for(std::uint16_t slot, Attempt& attempt) {
    if (stale_ && !attempt.ask) {
      auto refreshed = refresh(attempt);
      // An old map is better than none: who has the slot may well still be the same.
      if (!refreshed && (map_.empty() || !is_passing(refreshed.error()))) return refreshed.error();
    }
    const Endpoint* owner = attempt.ask ? &*attempt.ask : map_.owner(slot);
    if (owner == nullptr) {
      return Error{ErrorCode::kUnavailable, "no node of the cluster has slot " + std::to_string(slot),
                   "redis-cli --cluster check " + seeds_.front().text()};
    }
    TRY_ASSIGN(auto node, nodes_.to(*owner));
    auto connected = connect(*node, clock_, connect_by(attempt), attempt.control);
    if (connected) return node;
    Error error = std::move(connected).error();
    const bool named_by_others = std::find(seeds_.begin(), seeds_.end(), *owner) == seeds_.end();
    if (is_passing(error) && named_by_others && !node->settings().reached) {
      error.next =
          "is the server running there? If it is reached by another address than the cluster says: ?address-map=" +
          owner->text() + "=HOST:PORT";
    }
    return error;
  }

  Result<std::vector<Reply>> send(Connection& node, const std::vector<Command>& commands, bool asking,
                                  const Attempt& attempt) {
    if (!asking) return ask(node, commands, clock_, attempt.until, attempt.control);
    const auto [with, ours] = with_asking(commands);
    auto replies = ask(node, with, clock_, attempt.until, attempt.control);
    if (!replies) return replies;
    std::vector<Reply> kept;
    for (std::size_t i = 0; i < replies->size(); ++i) {
      if (ours[i]) kept.push_back(std::move((*replies)[i]));
    }
    return kept;
  }

  Error lost_on_the_way(Error error) {
    stale_ = true;
    return is_passing(error) ? outcome_unknown(std::move(error)) : error;
  }

  /// Learns from a refusal. True if it says where else to ask.
  bool follow(const Reply& reply, Refusal refusal, const Endpoint& asked, Attempt& attempt) {
    const auto redirect = parse_redirect(reply, asked);
    if (!redirect) {
      stale_ = stale_ || refusal != Refusal::kLater;
      return false;
    }
    if (refusal == Refusal::kAsk) attempt.ask = redirect->to;
    else map_.move(redirect->slot, redirect->to);
    return true;
  }

  /// Waits a little; past the deadline, what was wrong is the error.
  Result<void> rest(Attempt& attempt) {
    if (clock_.now() + attempt.pause >= attempt.until) {
      return Error{ErrorCode::kUnavailable, "no node of the cluster to ask: " + attempt.trouble, attempt.next};
    }
    const TimePoint until = clock_.now() + attempt.pause;
    attempt.pause = std::min(2 * attempt.pause, kLongestPause);
    if (attempt.hops > kHops) {  // they do not agree who has it
      attempt.hops = 0;
      stale_ = true;
    }
    attempt.ask.reset();
    return pause(clock_, until, attempt.control);
  }

  /// Asks one node after the other for the map, another one first than the last time.
  Result<void> refresh(Attempt& attempt) {
    std::vector<Endpoint> sources = map_.masters();
    for (const Endpoint& seed : seeds_) {
      if (std::find(sources.begin(), sources.end(), seed) == sources.end()) sources.push_back(seed);
    }
    std::rotate(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(first_source_++ % sources.size()),
                sources.end());
    const Duration patience = attempt.patience;
    attempt.patience = std::min(2 * patience, kMostPatience);
    Error troubles{ErrorCode::kUnavailable, "", ""};
    for (const Endpoint& source : sources) {
      auto ranges = ask_for_map(source, std::min(attempt.until, clock_.now() + patience), attempt.control);
      if (ranges) {
        map_.assign(std::move(*ranges));
        stale_ = false;
        return {};
      }
      if (!is_passing(ranges.error())) return ranges.error();
      troubles.message += (troubles.message.empty() ? "" : "; ") + ranges.error().message;
      if (troubles.next.empty()) troubles.next = ranges.error().next;
    }
    return troubles;
  }

  Result<std::vector<SlotRange>> ask_for_map(const Endpoint& source, TimePoint until, Control* control) {
    TRY_ASSIGN(auto node, nodes_.to(source));
    auto replies = exchange(*node, {{"CLUSTER", "SLOTS"}}, clock_, until, until, control);
    if (!replies) return replies.error();
    return parse_cluster_slots(replies->front(), source);
  }

  std::vector<Endpoint> seeds_;
  Clock& clock_;
  Duration connect_timeout_;
  Connections nodes_;
  SlotMap map_;
  bool stale_ = true;  ///< the map is to be asked for before it is used
  std::size_t first_source_ = 0;
};

}  // namespace

Result<std::unique_ptr<Deployment>> cluster_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                       Greet greet) {
  if (url.hosts.empty()) {
    return Error{ErrorCode::kMisconfigured, "a " + url.scheme + " URL names nodes of the cluster",
                 "write " + url.scheme + "://node1,node2,node3"};
  }
  // Faults of the settings show before anything is asked.
  TRY_ASSIGN(auto settings, connection_settings(url, endpoints(url).front()));
  if (settings.database != 0) {
    return Error{ErrorCode::kMisconfigured, "a cluster has database 0 only, not " + std::to_string(settings.database),
                 "leave the database out of the URL"};
  }
  return std::unique_ptr<Deployment>(std::make_unique<ClusterDeployment>(url, clock, connect_timeout, greet));
}

}  // namespace dlock::redis
