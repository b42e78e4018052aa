// SPDX-License-Identifier: Apache-2.0
// The half of StockTree that reads and decides; the ends of its transactions are in stock_commit.cpp.
#include "backends/zookeeper/stock/stock_tree.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/stock/zookeeper_stock.h"
#include "lib/base/random.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

// After how many lost races a call closes the gate: a few segments are won sooner or later, a quiet moment to look at
// all of them comes as well; to write all of them it hardly ever does. What many steps have read is much, and old soon.
constexpr int kRacesOfOne = 30;
constexpr int kRacesOfMany = 3;
constexpr int kRacesAlone = 2;

constexpr std::size_t kMostTogether = 256;  ///< a transaction of 100 kB: a tenth of what a server takes
constexpr std::size_t kMostSwept = 100;     ///< reservations that one transaction gives back
constexpr Duration kClockAge = 1s;          ///< how old a look at the leader's clock may be for an end that it decides

std::int64_t ms(Duration d) { return std::chrono::ceil<std::chrono::milliseconds>(d).count(); }

}  // namespace

Result<void> StockTree::begin(Access access, const CallLimit& limit) {
  limit_ = limit;
  if (!std::exchange(again_, false)) {
    gate_.begin();
    patience_ = access == Access::kAlone ? kRacesAlone : kRacesOfOne;
    races_ = 0;
    unsure_ = false;
  }
  error_.reset();
  seen_.clear();
  drafts_.clear();
  moves_.clear();
  levelled_.reset();
  made_.clear();
  dropped_.clear();
  relies_on_all_ = believes_ = swept_ = more_to_sweep_ = ends_ = false;
  token_.reset();
  errand_ = {};
  return {};
}

std::size_t StockTree::together(std::span<const StockStep> steps) const {
  std::set<std::string_view> ids;
  std::size_t count = 0;
  for (const StockStep& step : steps) {
    if (count == kMostTogether || !ids.insert(step.id.text()).second) break;
    ++count;
  }
  return count;
}

bool StockTree::find(const LockName& name) {
  const auto found = gate_.find(name, races_ >= patience_, limit_);
  name_ = name;
  if (!found) error_ = found.error();
  seen_[gate_.path()] = gate_.seen();
  return found && *found;
}

std::vector<LockName> StockTree::names() {
  const std::string path = own_directory(session_.root(), kStocks);
  const auto list = session_.ask_until(std::vector<Request>{ask_sync(path), ask_list(path)}, limit_);
  std::vector<LockName> names;
  if (!list) error_ = list.error();
  if (!list) return names;
  for (const std::string& child : list->back().children) {
    if (auto name = name_of_part(child)) names.push_back(std::move(*name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void StockTree::create(const LockName& name, Quantity quantity, int segments, const Owner& maker) {
  const StockHead head{random_hex(8), segments, quantity, maker.text(), {}};
  const std::string life = life_path(session_.root(), head.life);
  made_ = {create_node(stock_path(session_.root(), name), head_text(head)), create_node(life, name.text())};
  for (const char* directory : {kSegments, kOpen, kRequests}) made_.push_back(create_node(life + directory, ""));
  int segment = 0;
  for (const Quantity each : spread(quantity, segments)) {
    made_.push_back(create_node(segment_path(life, segment++), counts_text({.quantity = each})));
  }
}

void StockTree::drop() { dropped_ = life(); }

Result<void> StockTree::look(const std::vector<std::string>& paths, bool freshly) {
  if (error_) return *error_;
  std::vector<Request> requests;
  if (freshly) requests.push_back(ask_sync(gate_.path()));
  for (const std::string& path : paths) {
    if (!seen_.contains(path)) requests.push_back(ask_data(path));
  }
  if (requests.empty()) return {};
  auto answers = session_.ask(requests, limit_);
  if (!answers) error_ = answers.error();
  if (!answers) return *error_;
  for (std::size_t i = freshly ? 1 : 0; i < requests.size(); ++i) seen_[requests[i].path] = std::move((*answers)[i]);
  return {};
}

/// The number of reservations, too.
Result<void> StockTree::look_everywhere() {
  std::vector<std::string> paths{life() + kOpen};
  for (int i = 0; i < segments(); ++i) paths.push_back(segment_node(i));
  return look(paths);
}

Result<StockCounts> StockTree::counts(int segment) {
  const std::string path = segment_node(segment);
  if (auto looked = look({path}); !looked) return looked.error();
  const std::string which = "segment " + std::to_string(segment);
  if (seen(path).code == Code::kNoNode) return broken(which + " is missing");
  auto counts = parse_counts(seen(path).data);
  if (!counts) return broken(which + ": " + counts.error().message);
  if (const auto moved = moves_.find(segment); moved != moves_.end()) *counts += moved->second;
  return counts;
}

Result<std::vector<Quantity>> StockTree::quantities() {
  if (auto looked = look_everywhere(); !looked) return looked.error();
  std::vector<Quantity> have;
  sum_ = {};
  for (int i = 0; i < segments(); ++i) {
    const auto here = counts(i);
    if (!here) return here.error();
    have.push_back(here->quantity);
    sum_ += *here;
  }
  return have;
}

Result<std::optional<Quantity>> StockTree::quantity(int segment) {
  const auto here = counts(segment);
  if (!here) return here.error();
  return std::optional(here->quantity);
}

Result<StockState> StockTree::state(const LockName& name) {
  if (auto swept = sweep(true); !swept) return swept.error();
  StockState state{.name = name, .segments = {}, .created = gate_.head().created};
  for (int i = 0; i < segments(); ++i) {
    const auto here = counts(i);
    if (!here) return here.error();
    state.segments.push_back({here->quantity, here->reserved});
    state.added += here->added;
    state.taken += here->taken;
    state.refunded += here->refunded;
  }
  state.open = seen(life() + kOpen).stat.children;
  for (const auto& [id, one] : drafts_) state.open -= static_cast<int>(one.changed);  // those are over
  return state;
}

void StockTree::move(int segment, const Change& change) {
  moves_[home_of(segment, segments())] += {change.quantity, change.reserved, change.taken, change.refunded, 0};
}

void StockTree::look_ahead(const std::vector<LockName>& ids) {
  patience_ = std::min(patience_, kRacesOfMany);
  std::vector<std::string> paths{life() + kOpen};
  for (const LockName& id : ids) paths.push_back(request_node(id));
  for (int i = 0; i < segments(); ++i) paths.push_back(segment_node(i));
  (void)look(paths, true);
}

void StockTree::look_at(const LockName& id, int segment) {
  std::vector<std::string> paths{request_node(id)};
  if (segment < segments()) paths.push_back(segment_node(segment));
  (void)look(paths);
}

Result<StockTree::Draft*> StockTree::draft(const LockName& id) {
  if (const auto known = drafts_.find(id); known != drafts_.end()) return &known->second;
  if (auto looked = look({request_node(id)}); !looked) return looked.error();
  const Answer& answer = seen(request_node(id));
  Draft one{.version = answer.stat.version, .mtime = answer.stat.mtime};
  if (answer.code != Code::kNoNode) {
    auto note = parse_note(answer.data);
    if (!note) return broken("request '" + id.text() + "': " + note.error().message);
    one.before = one.now = std::move(*note);
  }
  return &drafts_.emplace(id, std::move(one)).first->second;
}

Result<std::optional<RequestRecord>> StockTree::record(const LockName& id) {
  if (aside_ && aside_->first == id && !seen_.contains(request_node(id))) {
    look_at(id, home_of(aside_->second, segments()));  // where its end will need it
  }
  const auto found = draft(id);
  if (!found) return found.error();
  Draft& one = **found;
  const auto over = Draft::is_open(one.now) ? is_over(one) : Result<bool>(false);
  if (!over) return over.error();
  if (*over) free_parts(one);
  return one.now ? std::optional(one.now->record) : std::nullopt;
}

void StockTree::remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) {
  Draft& one = drafts_.at(id);
  if (ttl) session_.outlast(*ttl);
  else if (one.now && record_text(one.now->record) == record_text(record)) return;
  ends_ = ends_ || (Draft::is_open(one.now) && !ttl);
  one.now = StockNote{record, ttl ? ms(*ttl) : 0};
  one.changed = true;
}

void StockTree::give_back(const LockName& id, const RequestRecord& /*record*/) {
  free_parts(drafts_.at(id));
  ends_ = true;
}

void StockTree::free_parts(Draft& reservation) {
  for (const StockPart& part : reservation.now->record.parts) {
    move(part.segment, {.quantity = part.quantity, .reserved = -part.quantity});
  }
  reservation.now.reset();
  reservation.changed = true;
}

/// Asks for a change that means nothing, for its stamp.
Result<std::int64_t> StockTree::leaders_time() {
  const NodeChange tick = set_node(life() + kOpen, "");
  const auto answer = session_.ask(ask_change({tick}), limit_);
  if (!answer) error_ = answer.error();
  if (!answer) return answer.error();
  if (answer->code != Code::kOk) return broken("its directory of reservations is missing");
  session_.leader().seen(answer->changed.front().stat.mtime, session_.now());
  return answer->changed.front().stat.mtime;
}

Result<bool> StockTree::is_over(const Draft& reservation) {
  if (reservation.changed) return false;
  const std::int64_t end = reservation.mtime + reservation.before->ttl_ms;
  auto now = session_.leader().time(session_.now());
  if (now && *now < end) return false;
  now = session_.leader().time(session_.now(), kClockAge);
  if (now) return *now >= end;
  const auto asked = leaders_time();
  if (!asked) return asked.error();
  return *asked >= end;
}

/// One that begins or ends during it may be missing.
Result<std::vector<LockName>> StockTree::reservations() {
  const auto list = session_.ask(ask_list(life() + kOpen), limit_);
  if (!list) error_ = list.error();
  if (!list) return *error_;
  std::vector<LockName> ids;
  std::vector<std::string> paths;
  for (const std::string& child : list->children) {
    auto id = name_of_part(child);
    if (!id) return broken("'" + child + "' among its reservations is not a request");
    paths.push_back(request_node(*id));
    ids.push_back(std::move(*id));
  }
  if (auto looked = look(paths); !looked) return looked.error();
  std::vector<LockName> open;
  for (const LockName& id : ids) {
    const auto one = draft(id);
    if (!one) return one.error();
    if (Draft::is_open((*one)->now)) open.push_back(id);
  }
  return open;
}

Result<void> StockTree::sweep(bool needed) {
  if (!needed) return {};
  relies_on_all_ = true;
  if (auto looked = look_everywhere(); !looked) return looked;
  if (seen(life() + kOpen).stat.children == 0 || std::exchange(swept_, true)) return {};
  const auto open = reservations();
  if (!open) return open.error();
  std::size_t count = 0;
  for (const LockName& id : *open) {
    Draft& one = drafts_.at(id);
    const auto over = is_over(one);
    if (!over) return over.error();
    if (!*over) continue;
    if (more_to_sweep_ = count++ == kMostSwept; more_to_sweep_) break;
    free_parts(one);
  }
  return {};
}

Result<void> StockTree::level(int count) {
  const auto have = quantities();
  if (!have) return have.error();
  const std::vector<Quantity> each = spread(available(), count);
  std::vector<StockCounts> after(static_cast<std::size_t>(count));
  for (int i = 0; i < segments(); ++i) {
    StockCounts more = *counts(i);
    more.quantity = more.reserved = 0;
    after[static_cast<std::size_t>(i < count ? i : 0)] += more;
  }
  for (std::size_t i = 0; i < after.size(); ++i) after[i].quantity = each[i];
  const auto open = reservations();
  if (!open) return open.error();
  Quantity found = 0;
  for (const LockName& id : *open) {
    for (const StockPart& part : drafts_.at(id).now->record.parts) {
      after[static_cast<std::size_t>(home_of(part.segment, count))].reserved += part.quantity;
      found += part.quantity;
    }
  }
  if (found != reserved()) return broken("its reservations are not what is set aside");
  levelled_ = std::move(after);
  return {};
}

}  // namespace dlock::zookeeper

namespace dlock {

std::unique_ptr<Stock> zookeeper::make_stock(Ensemble ensemble, const Runtime& runtime) {
  return ledger_stock(std::make_unique<StockTree>(std::move(ensemble), runtime));
}

Result<std::unique_ptr<Stock>> make_zookeeper_stock(const BackendUrl& url, const Runtime& runtime) {
  auto ensemble = zookeeper::Ensemble::of(url, runtime.clock);
  if (!ensemble) return ensemble.error();
  return zookeeper::make_stock(std::move(*ensemble), runtime);
}

}  // namespace dlock
