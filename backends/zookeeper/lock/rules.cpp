// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/rules.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace dlock::zookeeper {
namespace {

constexpr std::pair<const char*, Recipe> kRecipes[] = {
    {"curator", Recipe::kCurator}, {"rw", Recipe::kRw},         {"semaphore-mutex", Recipe::kSemaphoreMutex},
    {"kazoo", Recipe::kKazoo},     {"simple", Recipe::kSimple},
};

/// Rule of a mode in a recipe of one queue.
struct Queue {
  Recipe recipe;
  Mode mode;
  Rule rule;
  Family family;
};
constexpr Queue kQueues[] = {
    {Recipe::kCurator, Mode::kExclusive, Rule::kExclusive, Family::kCuratorMutex},
    {Recipe::kCurator, Mode::kShared, Rule::kShared, Family::kCuratorRead},
    {Recipe::kRw, Mode::kExclusive, Rule::kExclusive, Family::kCuratorWrite},
    {Recipe::kRw, Mode::kShared, Rule::kShared, Family::kCuratorRead},
    {Recipe::kKazoo, Mode::kExclusive, Rule::kKazooWrite, Family::kKazooLock},
    {Recipe::kKazoo, Mode::kShared, Rule::kKazooRead, Family::kKazooRead},
};

Error no_mode(Recipe recipe, Mode mode) {
  return {ErrorCode::kUnsupported,
          std::string("recipe=") + recipe_name(recipe) + " has no " + mode_name(mode) + " locks",
          "recipe=curator, the default, has all modes; man dlock-zookeeper lists what the others have"};
}

/// Whether an acquisition under `rule` waits for a node of `family` with a lower number than its own.
bool is_seen_by(Rule rule, Family family) {
  constexpr auto bit = [](Family one) { return 1U << static_cast<unsigned>(one); };
  constexpr unsigned kMutex = bit(Family::kCuratorMutex);
  constexpr unsigned kWrite = bit(Family::kCuratorWrite);
  constexpr unsigned kRead = bit(Family::kCuratorRead);
  constexpr unsigned kKazoo = bit(Family::kKazooLock);
  constexpr unsigned kSeen[] = {
      kMutex | kWrite | kRead,           // kExclusive
      kMutex | kWrite,                   // kShared
      kMutex,                            // kCuratorMutex
      kWrite | kRead,                    // kCuratorWrite
      kWrite,                            // kCuratorRead
      kKazoo | bit(Family::kKazooRead),  // kKazooWrite
      kKazoo,                            // kKazooRead
  };
  const auto at = static_cast<std::size_t>(rule);
  return at >= std::size(kSeen) || (kSeen[at] & bit(family)) != 0;  // where every child counts there are no families
}

}  // namespace

Recipe recipe_of(const BackendUrl& url) {
  const auto wanted = url.params.find("recipe");
  if (wanted == url.params.end()) return Recipe::kCurator;
  for (const auto& [name, recipe] : kRecipes) {
    if (wanted->second == name) return recipe;
  }
  return Recipe::kCurator;  // url_schemes.cpp lets no other name through
}

Result<void> check_leases(Recipe recipe) {
  if (recipe != Recipe::kSimple) return {};
  return Error{ErrorCode::kUnsupported, "recipe=simple has no node that outlives its session",
               "use recipe=curator; or leave --at-least and --lock-delay out, and hold instead of acquire"};
}

const char* recipe_name(Recipe recipe) {
  for (const auto& [name, value] : kRecipes) {
    if (value == recipe) return name;
  }
  return "";
}

Result<std::vector<QueueDirectory>> queues_of(Recipe recipe, const std::string& dir, Mode mode, int permits) {
  const bool counts = recipe == Recipe::kCurator && mode == Mode::kPermits;
  if (counts || (recipe == Recipe::kSemaphoreMutex && mode == Mode::kExclusive)) {
    return std::vector<QueueDirectory>{
        {.directory = dir + "/locks"},
        {dir + "/leases", Rule::kCuratorLease, Family::kLease, counts ? permits : 1, {}, dir},
    };
  }
  if (recipe == Recipe::kSimple && mode == Mode::kExclusive) {
    return std::vector<QueueDirectory>{{.directory = parent_of(dir), .rule = Rule::kOneNode, .name = base_of(dir)}};
  }
  for (const Queue& queue : kQueues) {
    if (queue.recipe != recipe || queue.mode != mode) continue;
    return std::vector<QueueDirectory>{
        {dir, queue.rule, queue.family, 0, {}, recipe == Recipe::kKazoo ? "" : dir + "/leases"}};
  }
  return no_mode(recipe, mode);
}

bool is_reader(Family family) { return family == Family::kCuratorRead || family == Family::kKazooRead; }

std::vector<std::string> strangers(Rule rule, const std::vector<std::string>& children, const std::string& own) {
  std::vector<std::string> found;
  std::set<Family> told;
  const auto ours = parse_node_name(own);
  if (!ours) return found;
  for (const std::string& name : children) {
    const auto other = parse_node_name(name);
    if (!other || name == own || (is_reader(other->family) && is_reader(ours->family))) continue;
    const bool exclude = is_seen_by(rule_of(*other), ours->family) && is_seen_by(rule, other->family);
    if (!exclude && told.insert(other->family).second) found.push_back(name);
  }
  return found;
}

Contenders::Contenders(const std::vector<std::string>& children) : children_(children) {
  for (const std::string& name : children) {
    if (const auto parsed = parse_node_name(name)) sorted_.push_back({*parsed, name});
  }
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const One& a, const One& b) { return a.parsed.number < b.parsed.number; });
  for (const One& one : sorted_) {
    auto& first = first_of_[static_cast<std::size_t>(one.parsed.family)];
    if (!first) first = one.parsed.number;
  }
}

/// The end of those before ours. Same numbers (Curator's downgrade; a directory that ran out of them) count as before
/// us.
std::size_t Contenders::end_before(const std::string& own) const {
  const auto parsed = parse_node_name(own);
  if (!parsed) return 0;
  const auto end = std::upper_bound(sorted_.begin(), sorted_.end(), parsed->number,
                                    [](std::int64_t number, const One& one) { return number < one.parsed.number; });
  return static_cast<std::size_t>(end - sorted_.begin());
}

bool Contenders::is_blocked(Rule rule, const std::string& own) const {
  const std::size_t end = end_before(own);
  if (end == 0) return false;
  const std::int64_t number = sorted_[end - 1].parsed.number;
  for (std::size_t family = 0; family < first_of_.size(); ++family) {
    if (first_of_[family] && *first_of_[family] < number && is_seen_by(rule, Family(family))) return true;
  }
  return nearest(rule, own, number) != nullptr;
}

/// The nearest one before ours that the rule sees, with this number or a higher one; nullptr if there is none.
const std::string* Contenders::nearest(Rule rule, const std::string& own, std::int64_t least) const {
  for (std::size_t i = end_before(own); i-- > 0 && sorted_[i].parsed.number >= least;) {
    if (is_seen_by(rule, sorted_[i].parsed.family) && sorted_[i].name.get() != own) return &sorted_[i].name.get();
  }
  return nullptr;
}

bool Contenders::holds(Rule rule, const std::string& own, int permits) const {
  if (rule == Rule::kOneNode) return true;
  if (rule == Rule::kCuratorLease) return children_.size() <= static_cast<std::size_t>(permits);
  return !is_blocked(rule, own);
}

QueueTurn Contenders::judge(Rule rule, const std::string& own, int permits) const {
  if (std::find(children_.begin(), children_.end(), own) == children_.end()) return {QueueTurn::Kind::kGone};
  auto leases = leases_left_to(rule, own);
  if (holds(rule, own, permits)) return {QueueTurn::Kind::kHolds, {}, std::move(leases)};
  if (rule == Rule::kCuratorLease) return {QueueTurn::Kind::kWaits, {}, std::move(leases)};
  const std::string& before = *nearest(rule, own, std::numeric_limits<std::int64_t>::min());
  return {QueueTurn::Kind::kWaits, before, std::move(leases)};
}

/// One of dlock's that waits looks after the leases before it, and foreign ones after none. Where all are counted only
/// one waits.
std::vector<std::string> Contenders::leases_left_to(Rule rule, const std::string& own) const {
  const bool counts = rule == Rule::kCuratorLease;
  std::vector<std::string> leases;
  for (std::size_t i = counts ? sorted_.size() : end_before(own); i-- > 0;) {
    if (sorted_[i].name.get() == own) continue;
    if (sorted_[i].parsed.is_lease) leases.push_back(sorted_[i].name);
    else if (sorted_[i].parsed.is_ours && !counts) break;
  }
  return leases;
}

QueueTurn judge(Rule rule, const std::vector<std::string>& children, const std::string& own, int permits) {
  return Contenders(children).judge(rule, own, permits);
}

Rule rule_of(const NodeName& node) {
  if (node.is_ours && node.family == Family::kCuratorRead) return Rule::kShared;
  if (node.is_ours && (node.family == Family::kCuratorMutex || node.family == Family::kCuratorWrite))
    return Rule::kExclusive;
  // kazoo's Lock and WriteLock cannot be distinguished; WriteLock is the one that waits for readers.
  constexpr Rule kRules[] = {Rule::kCuratorMutex, Rule::kCuratorRead, Rule::kCuratorWrite,
                             Rule::kKazooWrite,   Rule::kKazooRead,   Rule::kCuratorLease};
  return kRules[static_cast<std::size_t>(node.family)];
}

std::optional<std::string> first_contender(const std::vector<std::string>& children, const std::string& own) {
  std::optional<std::string> found;
  std::int64_t number = 0;
  for (const std::string& name : children) {
    const auto parsed = name == own ? std::nullopt : parse_node_name(name);
    if (parsed && (parsed->family == Family::kKazooLock || parsed->family == Family::kKazooRead)) continue;
    if (parsed && (!found || parsed->number < number)) found = name, number = parsed->number;
  }
  return found;
}

}  // namespace dlock::zookeeper
