// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/rules.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace dlock::zookeeper {
namespace {

constexpr std::pair<const char*, Recipe> kRecipes[] = {
    {"bridge", Recipe::kBridge},
    {"mutex", Recipe::kMutex},
    {"semaphore-mutex", Recipe::kSemaphoreMutex},
    {"rw", Recipe::kRw},
    {"semaphore", Recipe::kSemaphore},
    {"kazoo-lock", Recipe::kKazooLock},
    {"kazoo-rw", Recipe::kKazooRw},
    {"kazoo-semaphore", Recipe::kKazooSemaphore},
    {"simple", Recipe::kSimple},
};

bool is_own(const std::vector<std::string>& own, const std::string& name) {
  return std::find(own.begin(), own.end(), name) != own.end();
}

bool are_present(const std::vector<std::string>& own, const std::vector<std::string>& children) {
  return std::all_of(own.begin(), own.end(), [&](const std::string& name) { return is_own(children, name); });
}

std::string after_last(const std::string& text, std::string_view word) {
  const std::size_t at = text.rfind(word);
  return at == std::string::npos ? text : text.substr(at + word.size());
}

/// What Curator sorts by: a name without the word sorts as it is.
std::string curator_key(Rule rule, const std::string& name) {
  if (rule == Rule::kCuratorMutex) return after_last(name, "lock-");
  return after_last(after_last(name, "__READ__"), "__WRIT__");
}

std::vector<std::string> sorted_by_curator(Rule rule, std::vector<std::string> children) {
  std::sort(children.begin(), children.end(),
            [rule](const std::string& a, const std::string& b) { return curator_key(rule, a) < curator_key(rule, b); });
  return children;
}

/// Curator's mutex and write lock: the first of all children.
Verdict judge_curator(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own) {
  const auto sorted = sorted_by_curator(rule, children);
  const auto mine = std::find(sorted.begin(), sorted.end(), own.front());
  if (mine == sorted.begin()) return {Verdict::Kind::kHolds};
  return {Verdict::Kind::kWaits, {*(mine - 1)}};
}

/// Curator's read lock: no writer before it.
Verdict judge_curator_read(const std::vector<std::string>& children, const std::vector<std::string>& own) {
  for (const std::string& name : sorted_by_curator(Rule::kCuratorRead, children)) {
    if (name == own.front()) break;
    if (name.find("__WRIT__") != std::string::npos) return {Verdict::Kind::kWaits, {name}};
  }
  return {Verdict::Kind::kHolds};
}

struct Numbered {
  std::string name;
  NodeName parsed;
};

/// All nodes before ours, in order. Same numbers (Curator's downgrade; a directory that ran out of them) count as
/// before us.
std::vector<Numbered> before(const std::vector<std::string>& children, const std::vector<std::string>& own) {
  std::optional<std::int64_t> first;
  for (const std::string& name : own) {
    const auto parsed = parse_node_name(name);
    if (parsed && (!first || parsed->number < *first)) first = parsed->number;
  }
  std::vector<Numbered> found;
  for (const std::string& name : children) {
    const auto parsed = parse_node_name(name);
    if (parsed && first && parsed->number <= *first && !is_own(own, name)) found.push_back({name, *parsed});
  }
  std::sort(found.begin(), found.end(),
            [](const Numbered& a, const Numbered& b) { return a.parsed.number < b.parsed.number; });
  return found;
}

bool is_reader(Family family) { return family == Family::kCuratorRead || family == Family::kKazooRead; }

/// Holds if nobody that the rule sees is before; else watches the nearest.
Verdict judge_numbers(Rule rule, const std::vector<Numbered>& others) {
  for (auto other = others.rbegin(); other != others.rend(); ++other) {
    if (is_seen_by(rule, other->parsed.family)) return {Verdict::Kind::kWaits, {other->name}};
  }
  return {Verdict::Kind::kHolds};
}

/// Fewer than `permits` before it. It watches the `permits` nearest: when as many have gone as must, one of these has.
Verdict judge_permits(const std::vector<Numbered>& others, int permits) {
  std::vector<std::string> shares;
  for (const Numbered& other : others) {
    if (other.parsed.family == Family::kCuratorRead && other.parsed.permits > 0) shares.push_back(other.name);
  }
  const auto most = static_cast<std::size_t>(permits);
  if (shares.size() < most) return {Verdict::Kind::kHolds};
  return {Verdict::Kind::kWaits, {shares.end() - permits, shares.end()}};
}

/// Somebody before us shares in another way.
bool disagree(const std::vector<Numbered>& others, int permits) {
  return std::any_of(others.begin(), others.end(), [permits](const Numbered& other) {
    return is_reader(other.parsed.family) && other.parsed.permits != permits;
  });
}

Verdict judge_bridge(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own,
                     int permits) {
  const auto others = before(children, own);
  if (rule != Rule::kBridgeExclusive && disagree(others, permits)) return {Verdict::Kind::kDisagrees};
  Verdict verdict = judge_numbers(rule, others);
  if (rule != Rule::kBridgePermits || verdict.kind != Verdict::Kind::kHolds) return verdict;
  return judge_permits(others, permits);
}

Stage gate(const std::string& directory, Rule rule, Family family) { return {directory, rule, {family}, 0}; }

Error no_mode(Recipe recipe, Mode mode) {
  return {ErrorCode::kUnsupported,
          std::string("recipe=") + recipe_name(recipe) + " has no " + mode_name(mode) + " locks",
          "recipe=bridge has all modes; man dlock-zookeeper lists what the others have"};
}

}  // namespace

Recipe recipe_of(const BackendUrl& url) {
  const auto wanted = url.params.find("recipe");
  if (wanted == url.params.end()) return Recipe::kBridge;
  for (const auto& [name, recipe] : kRecipes) {
    if (wanted->second == name) return recipe;
  }
  return Recipe::kBridge;  // url_schemes.cpp lets no other name through
}

const char* recipe_name(Recipe recipe) {
  for (const auto& [name, value] : kRecipes) {
    if (value == recipe) return name;
  }
  return "";
}

Result<std::vector<Stage>> stages_of(Recipe recipe, const std::string& dir, Mode mode, int permits) {
  const bool exclusive = mode == Mode::kExclusive;
  const bool shared = mode == Mode::kShared;
  using F = Family;
  switch (recipe) {
    case Recipe::kBridge:
      if (exclusive) {
        return std::vector<Stage>{{dir, Rule::kBridgeExclusive, {F::kCuratorMutex, F::kKazooLock, F::kCuratorWrite}}};
      }
      return std::vector<Stage>{
          {dir, shared ? Rule::kBridgeShared : Rule::kBridgePermits, {F::kKazooRead, F::kCuratorRead}, permits}};
    case Recipe::kMutex:
      if (!exclusive) return no_mode(recipe, mode);
      return std::vector<Stage>{{dir, Rule::kCuratorMutex, {F::kCuratorMutex}}};
    case Recipe::kRw:
      if (!exclusive && !shared) return no_mode(recipe, mode);
      if (shared) return std::vector<Stage>{{dir, Rule::kCuratorRead, {F::kCuratorRead}}};
      return std::vector<Stage>{{dir, Rule::kCuratorWrite, {F::kCuratorWrite}}};
    case Recipe::kKazooLock:
      if (!exclusive) return no_mode(recipe, mode);
      return std::vector<Stage>{{dir, Rule::kKazooLock, {F::kKazooLock}}};
    case Recipe::kKazooRw:
      if (!exclusive && !shared) return no_mode(recipe, mode);
      if (shared) return std::vector<Stage>{{dir, Rule::kKazooRead, {F::kKazooRead}}};
      return std::vector<Stage>{{dir, Rule::kKazooWrite, {F::kKazooLock}}};
    case Recipe::kSemaphoreMutex:
    case Recipe::kSemaphore:
      if (shared || (recipe == Recipe::kSemaphoreMutex && !exclusive)) return no_mode(recipe, mode);
      return std::vector<Stage>{gate(dir + "/locks", Rule::kCuratorMutex, F::kCuratorMutex),
                                {dir + "/leases", Rule::kCuratorLease, {F::kLease}, exclusive ? 1 : permits}};
    case Recipe::kKazooSemaphore:
      if (shared) return no_mode(recipe, mode);
      return std::vector<Stage>{gate(dir + "-__lock__", Rule::kKazooLock, F::kKazooLock),
                                {dir, Rule::kKazooLease, {}, exclusive ? 1 : permits}};
    case Recipe::kSimple:
      if (!exclusive) return no_mode(recipe, mode);
      return std::vector<Stage>{{parent_of(dir), Rule::kOneNode, {}, 0, base_of(dir)}};
  }
  return no_mode(recipe, mode);
}

bool is_seen_by(Rule rule, Family family) {
  const bool kazoo_writer = family == Family::kKazooLock;
  const bool writer = kazoo_writer || family == Family::kCuratorMutex || family == Family::kCuratorWrite;
  switch (rule) {
    case Rule::kBridgeExclusive:
      return writer || is_reader(family);
    case Rule::kBridgeShared:
    case Rule::kBridgePermits:
      return writer;
    case Rule::kKazooLock:
    case Rule::kKazooRead:
      return kazoo_writer;
    case Rule::kKazooWrite:
      return kazoo_writer || family == Family::kKazooRead;
    case Rule::kCuratorMutex:
      return family == Family::kCuratorMutex;
    case Rule::kCuratorWrite:
      return family == Family::kCuratorRead || family == Family::kCuratorWrite;
    case Rule::kCuratorRead:
      return family == Family::kCuratorWrite;
    case Rule::kCuratorLease:
    case Rule::kKazooLease:
    case Rule::kOneNode:
      return true;
  }
  return true;
}

bool is_in_curators_way(const std::string& name) {
  return !parse_node_name(name) && curator_key(Rule::kCuratorMutex, name) < "0000000000";
}

std::vector<std::string> strangers(Rule rule, const std::vector<std::string>& children,
                                   const std::vector<std::string>& own) {
  std::vector<Family> families;
  for (const std::string& name : own) {
    if (const auto parsed = parse_node_name(name)) families.push_back(parsed->family);
  }
  std::vector<std::string> found;
  std::set<Family> told;
  if (families.empty()) return found;
  for (const std::string& name : children) {
    const auto other = parse_node_name(name);
    if (!other || is_own(own, name) || (is_reader(other->family) && is_reader(families.front()))) continue;
    // kazoo's Lock and WriteLock cannot be told apart; WriteLock is the one that waits for readers.
    const Rule theirs = rule_of({*other});
    const bool waits = std::any_of(families.begin(), families.end(), [&](Family f) { return is_seen_by(theirs, f); });
    if ((!waits || !is_seen_by(rule, other->family)) && told.insert(other->family).second) found.push_back(name);
  }
  return found;
}

Verdict judge(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own, int permits) {
  const auto most = static_cast<std::size_t>(permits);
  if (rule == Rule::kKazooLease) {
    if (!own.empty() && are_present(own, children)) return {Verdict::Kind::kHolds};
    if (children.size() < most) return {Verdict::Kind::kGone};
    return {Verdict::Kind::kWaits, {}, true};
  }
  if (!are_present(own, children) || own.empty()) return {Verdict::Kind::kGone};
  switch (rule) {
    case Rule::kBridgeExclusive:
    case Rule::kBridgeShared:
    case Rule::kBridgePermits:
      return judge_bridge(rule, children, own, permits);
    case Rule::kCuratorMutex:
    case Rule::kCuratorWrite:
      return judge_curator(rule, children, own);
    case Rule::kCuratorRead:
      return judge_curator_read(children, own);
    case Rule::kKazooLock:
    case Rule::kKazooWrite:
    case Rule::kKazooRead:
      return judge_numbers(rule, before(children, own));
    case Rule::kCuratorLease:
      if (children.size() <= most) return {Verdict::Kind::kHolds};
      return {Verdict::Kind::kWaits, {}, true};
    case Rule::kKazooLease:
    case Rule::kOneNode:
      break;
  }
  return {Verdict::Kind::kHolds};
}

Rule rule_of(const std::vector<NodeName>& nodes) {
  const Family family = nodes.front().family;
  if (nodes.size() > 1) {
    if (!is_reader(family)) return Rule::kBridgeExclusive;
    return nodes.front().permits > 0 ? Rule::kBridgePermits : Rule::kBridgeShared;
  }
  switch (family) {
    case Family::kCuratorMutex:
      return Rule::kCuratorMutex;
    case Family::kCuratorRead:
      return Rule::kCuratorRead;
    case Family::kCuratorWrite:
      return Rule::kCuratorWrite;
    case Family::kKazooLock:
      return Rule::kKazooWrite;
    case Family::kKazooRead:
      return Rule::kKazooRead;
    case Family::kLease:
      return Rule::kCuratorLease;
  }
  return Rule::kCuratorMutex;
}

}  // namespace dlock::zookeeper
