// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/rules.h"

#include <algorithm>
#include <limits>
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

std::string_view after_last(std::string_view text, std::string_view word) {
  const std::size_t at = text.rfind(word);
  return at == std::string_view::npos ? text : text.substr(at + word.size());
}

/// Curator's sort key (a name without the word sorts as it is), and the one that decides between equal ones.
std::pair<std::string_view, std::string_view> curator_order(Rule rule, std::string_view name) {
  if (rule == Rule::kCuratorMutex) return {after_last(name, "lock-"), name};
  return {after_last(after_last(name, "__READ__"), "__WRIT__"), name};
}

bool is_reader(Family family) { return family == Family::kCuratorRead || family == Family::kKazooRead; }

/// Rule of a mode in a recipe of one queue, whose nodes are all of one family.
struct Queue {
  Recipe recipe;
  Mode mode;
  Rule rule;
  Family family;
};
constexpr Queue kQueues[] = {
    {Recipe::kMutex, Mode::kExclusive, Rule::kCuratorMutex, Family::kCuratorMutex},
    {Recipe::kRw, Mode::kShared, Rule::kCuratorRead, Family::kCuratorRead},
    {Recipe::kRw, Mode::kExclusive, Rule::kCuratorWrite, Family::kCuratorWrite},
    {Recipe::kKazooLock, Mode::kExclusive, Rule::kKazooLock, Family::kKazooLock},
    {Recipe::kKazooRw, Mode::kShared, Rule::kKazooRead, Family::kKazooRead},
    {Recipe::kKazooRw, Mode::kExclusive, Rule::kKazooWrite, Family::kKazooLock},
};

Error no_mode(Recipe recipe, Mode mode) {
  return {ErrorCode::kUnsupported,
          std::string("recipe=") + recipe_name(recipe) + " has no " + mode_name(mode) + " locks",
          "recipe=bridge has all modes; man dlock-zookeeper lists what the others have"};
}

/// Whether an acquisition under `rule` waits for a node of `family` with a lower number than its own.
bool is_seen_by(Rule rule, Family family) {
  constexpr auto bit = [](Family one) { return 1U << static_cast<unsigned>(one); };
  constexpr unsigned kKazoo = bit(Family::kKazooLock);
  constexpr unsigned kWriters = kKazoo | bit(Family::kCuratorMutex) | bit(Family::kCuratorWrite);
  constexpr unsigned kReaders = bit(Family::kCuratorRead) | bit(Family::kKazooRead);
  constexpr unsigned kSeen[] = {
      kWriters | kReaders,                                     // kBridgeExclusive
      kWriters,                                                // kBridgeShared
      kWriters,                                                // kBridgePermits
      bit(Family::kCuratorMutex),                              // kCuratorMutex
      bit(Family::kCuratorRead) | bit(Family::kCuratorWrite),  // kCuratorWrite
      bit(Family::kCuratorWrite),                              // kCuratorRead
      kKazoo,                                                  // kKazooLock
      kKazoo | bit(Family::kKazooRead),                        // kKazooWrite
      kKazoo,                                                  // kKazooRead
  };
  const auto at = static_cast<std::size_t>(rule);
  return at >= std::size(kSeen) || (kSeen[at] & bit(family)) != 0;  // where every child counts there are no families
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
  if (recipe == Recipe::kBridge && exclusive) {
    return std::vector<Stage>{{dir, Rule::kBridgeExclusive, {F::kCuratorMutex, F::kKazooLock, F::kCuratorWrite}}};
  }
  if (recipe == Recipe::kBridge) {
    return std::vector<Stage>{
        {dir, shared ? Rule::kBridgeShared : Rule::kBridgePermits, {F::kKazooRead, F::kCuratorRead}, permits}};
  }
  if (recipe == Recipe::kSimple && exclusive) {
    return std::vector<Stage>{{parent_of(dir), Rule::kOneNode, {}, 0, base_of(dir)}};
  }
  if ((recipe == Recipe::kSemaphore && !shared) || (recipe == Recipe::kSemaphoreMutex && exclusive)) {
    return std::vector<Stage>{{dir + "/locks", Rule::kCuratorMutex, {F::kCuratorMutex}},
                              {dir + "/leases", Rule::kCuratorLease, {F::kLease}, exclusive ? 1 : permits}};
  }
  if (recipe == Recipe::kKazooSemaphore && !shared) {
    return std::vector<Stage>{{dir + "-__lock__", Rule::kKazooLock, {F::kKazooLock}},
                              {dir, Rule::kKazooLease, {}, exclusive ? 1 : permits}};
  }
  for (const Queue& queue : kQueues) {
    if (queue.recipe == recipe && queue.mode == mode) return std::vector<Stage>{{dir, queue.rule, {queue.family}}};
  }
  return no_mode(recipe, mode);
}

bool is_in_curators_way(const std::string& name) {
  return !parse_node_name(name) && curator_order(Rule::kCuratorMutex, name).first < "0000000000";
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
    // kazoo's Lock and WriteLock cannot be distinguished; WriteLock is the one that waits for readers.
    const Rule theirs = rule_of({*other});
    const bool waits = std::any_of(families.begin(), families.end(), [&](Family f) { return is_seen_by(theirs, f); });
    if ((!waits || !is_seen_by(rule, other->family)) && told.insert(other->family).second) found.push_back(name);
  }
  return found;
}

Contenders::Contenders(const std::vector<std::string>& children) : children_(children) {
  for (const std::string& name : children) {
    if (const auto parsed = parse_node_name(name)) sorted_.push_back({*parsed, name});
    const auto earlier = [&](Rule rule, const std::string* than) {
      return than == nullptr || curator_order(rule, name) < curator_order(rule, *than);
    };
    if (earlier(Rule::kCuratorMutex, first_mutex_)) first_mutex_ = &name;
    if (earlier(Rule::kCuratorWrite, first_in_line_)) first_in_line_ = &name;
    const bool writes = name.find("__WRIT__") != std::string::npos;
    if (writes && earlier(Rule::kCuratorRead, first_writer_)) first_writer_ = &name;
  }
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const One& a, const One& b) { return a.parsed.number < b.parsed.number; });
  for (const One& one : sorted_) {
    auto& first = first_of_[static_cast<std::size_t>(one.parsed.family)];
    if (!first) first = one.parsed.number;
    if (!is_reader(one.parsed.family)) continue;
    if (!first_reader_) first_reader_ = one.parsed;
    else if (!other_reader_ && one.parsed.permits != first_reader_->permits) other_reader_ = one.parsed;
    if (one.parsed.family == Family::kCuratorRead && one.parsed.permits > 0) shares_.push_back(&one);
  }
}

/// The end of those before ours. Same numbers (Curator's downgrade; a directory that ran out of them) count as before
/// us.
std::size_t Contenders::end_before(const std::vector<std::string>& own) const {
  std::optional<std::int64_t> first;
  for (const std::string& name : own) {
    const auto parsed = parse_node_name(name);
    if (parsed && (!first || parsed->number < *first)) first = parsed->number;
  }
  if (!first) return 0;
  const auto end = std::upper_bound(sorted_.begin(), sorted_.end(), *first,
                                    [](std::int64_t number, const One& one) { return number < one.parsed.number; });
  return static_cast<std::size_t>(end - sorted_.begin());
}

bool Contenders::is_blocked(Rule rule, const std::vector<std::string>& own) const {
  const std::size_t end = end_before(own);
  if (end == 0) return false;
  const std::int64_t number = sorted_[end - 1].parsed.number;
  for (std::size_t family = 0; family < first_of_.size(); ++family) {
    if (first_of_[family] && *first_of_[family] < number && is_seen_by(rule, Family(family))) return true;
  }
  return nearest(rule, own, number) != nullptr;
}

/// The nearest one before ours that the rule sees, with this number or a higher one; nullptr if there is none.
const std::string* Contenders::nearest(Rule rule, const std::vector<std::string>& own, std::int64_t least) const {
  for (std::size_t i = end_before(own); i-- > 0 && sorted_[i].parsed.number >= least;) {
    if (is_seen_by(rule, sorted_[i].parsed.family) && !is_own(own, sorted_[i].name)) return &sorted_[i].name.get();
  }
  return nullptr;
}

/// A contender before us shares in another way.
bool Contenders::disagree(const std::vector<std::string>& own, int permits) const {
  const auto& other = first_reader_ && first_reader_->permits != permits ? first_reader_ : other_reader_;
  const std::size_t end = end_before(own);
  return other && end > 0 && other->number <= sorted_[end - 1].parsed.number;
}

/// The nearest `permits` before ours that share so; fewer if there are no more.
std::vector<std::string> Contenders::shares_before(const std::vector<std::string>& own, int permits) const {
  std::vector<std::string> found;
  auto share = std::lower_bound(shares_.begin(), shares_.end(), sorted_.data() + end_before(own));
  while (share != shares_.begin() && found.size() < static_cast<std::size_t>(permits)) {
    if (const std::string& name = (*--share)->name; !is_own(own, name)) found.push_back(name);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// The last child before ours in the order of Curator's mutex or write lock.
const std::string& Contenders::before_in_line(Rule rule, const std::string& own) const {
  const std::string* found = rule == Rule::kCuratorMutex ? first_mutex_ : first_in_line_;
  for (const std::string& name : children_) {
    const auto place = curator_order(rule, name);
    if (place < curator_order(rule, own) && curator_order(rule, *found) < place) found = &name;
  }
  return *found;
}

bool Contenders::holds(Rule rule, const std::vector<std::string>& own, int permits) const {
  switch (rule) {
    case Rule::kCuratorMutex:
      return own.front() == *first_mutex_;
    case Rule::kCuratorWrite:
      return own.front() == *first_in_line_;
    case Rule::kCuratorRead:  // no writer before it; a stranger's name can say both
      return !first_writer_ || curator_order(rule, own.front()) <= curator_order(rule, *first_writer_);
    case Rule::kBridgeShared:
      return !disagree(own, permits) && !is_blocked(rule, own);
    case Rule::kBridgePermits:
      return !disagree(own, permits) && !is_blocked(rule, own) &&
             shares_before(own, permits).size() < static_cast<std::size_t>(permits);
    case Rule::kCuratorLease:
      return children_.size() <= static_cast<std::size_t>(permits);
    case Rule::kKazooLease:
    case Rule::kOneNode:
      return true;
    case Rule::kBridgeExclusive:
    case Rule::kKazooLock:
    case Rule::kKazooWrite:
    case Rule::kKazooRead:
      break;
  }
  return !is_blocked(rule, own);
}

Verdict Contenders::judge(Rule rule, const std::vector<std::string>& own, int permits) const {
  const bool is_there = !own.empty() && are_present(own, children_);
  if (rule == Rule::kKazooLease && !is_there) {
    if (children_.size() < static_cast<std::size_t>(permits)) return {Verdict::Kind::kGone};
    return {Verdict::Kind::kWaits, {}, true};
  }
  if (!is_there) return {Verdict::Kind::kGone};
  if (holds(rule, own, permits)) return {Verdict::Kind::kHolds};
  if (rule == Rule::kCuratorLease) return {Verdict::Kind::kWaits, {}, true};
  if (rule == Rule::kCuratorRead) return {Verdict::Kind::kWaits, {*first_writer_}};
  if (rule == Rule::kCuratorMutex || rule == Rule::kCuratorWrite) {
    return {Verdict::Kind::kWaits, {before_in_line(rule, own.front())}};
  }
  const bool shares = rule == Rule::kBridgeShared || rule == Rule::kBridgePermits;
  if (shares && disagree(own, permits)) return {Verdict::Kind::kDisagrees};
  const std::string* const name = nearest(rule, own, std::numeric_limits<std::int64_t>::min());
  if (name) return {Verdict::Kind::kWaits, {*name}};
  return {Verdict::Kind::kWaits, shares_before(own, permits)};  // when as many have gone as must, one of these has
}

Verdict judge(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own, int permits) {
  return Contenders(children).judge(rule, own, permits);
}

Rule rule_of(const std::vector<NodeName>& nodes) {
  const Family family = nodes.front().family;
  if (nodes.size() > 1) {
    if (!is_reader(family)) return Rule::kBridgeExclusive;
    return nodes.front().permits > 0 ? Rule::kBridgePermits : Rule::kBridgeShared;
  }
  constexpr Rule kRules[] = {Rule::kCuratorMutex, Rule::kCuratorRead, Rule::kCuratorWrite,
                             Rule::kKazooWrite,   Rule::kKazooRead,   Rule::kCuratorLease};
  return kRules[static_cast<std::size_t>(family)];
}

}  // namespace dlock::zookeeper
