// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_look.h"

#include <algorithm>

namespace dlock {
namespace {

/// Segments that are asked for where it is not known how many there are.
constexpr int kLikelySegments = 20;
/// Locks that are looked at by who wants any of them.
constexpr int kLocksInSight = 4;
/// No reservation is shorter.
constexpr std::int64_t kOldLockUs = 1'000'000;

std::vector<int> locks_in(const Sight& sight, const std::optional<StockHead>& known) {
  if (sight.locks < 0) return {};
  const bool all = sight.segments || !known;
  if (!all) return locks_from(sight.locks, known->segments);
  std::vector<int> segments;
  for (int i = 0; i < (known ? known->rows : kLikelySegments); ++i) segments.push_back(i);
  return segments;
}

std::vector<std::string> keys_of(const std::vector<LockName>& ids, int segments, const std::vector<int>& locks) {
  std::vector<std::string> keys{kHeadRow};
  keys.reserve(1 + 2 * ids.size() + static_cast<std::size_t>(segments) + locks.size());
  for (const LockName& id : ids) {
    keys.push_back(request_row(id));
    keys.push_back(open_row(id));
  }
  for (int i = 0; i < segments; ++i) keys.push_back(segment_row(i));
  for (const int segment : locks) keys.push_back(lock_row(segment));
  return keys;
}

Result<void> see_requests(StockLook& look, const LockName& name, const std::vector<LockName>& ids,
                          const std::vector<Rows::Row>& rows) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto seen = see_request(rows[1 + 2 * i], rows[2 + 2 * i]);
    if (!seen) return broken_stock(name, "request '" + ids[i].text() + "': " + seen.error().message);
    look.requests.emplace(ids[i], std::move(*seen));
  }
  return {};
}

Result<void> see_segments(StockLook& look, const LockName& name, std::span<const Rows::Row> rows) {
  for (const Rows::Row& row : rows) {
    const std::string which = "segment " + std::to_string(look.segments.size());
    if (row.version == 0) return broken_stock(name, which + " is missing");
    const auto counts = parse_counts(row.text);
    if (!counts) return broken_stock(name, which + " is '" + row.text + "'");
    look.segments.push_back(*counts);
  }
  return {};
}

}  // namespace

std::vector<int> locks_from(int first, int segments) {
  std::vector<int> some;
  for (int i = 0; i < std::min(kLocksInSight, segments); ++i) some.push_back((first % segments + i) % segments);
  return some;
}

Quantity StockLook::available() const { return sum_of(segments, &SegmentCounts::quantity); }
Quantity StockLook::reserved() const { return sum_of(segments, &SegmentCounts::reserved); }

std::vector<Quantity> StockLook::quantities() const {
  std::vector<Quantity> have;
  for (const SegmentCounts& one : segments) have.push_back(one.quantity);
  return have;
}

std::vector<Quantity> StockLook::unlocked() const {
  auto have = quantities();
  for (const auto& [segment, row] : locks) {
    if (!row.text.empty()) have[static_cast<std::size_t>(segment)] = 0;
  }
  return have;
}

bool StockLook::is_locked(int segment) const {
  const auto lock = locks.find(segment);
  return lock != locks.end() && !lock->second.text.empty();
}

std::optional<LockName> StockLook::lock_holder(int segment) const {
  if (!is_locked(segment)) return std::nullopt;
  auto id = LockName::parse_stored(locks.at(segment).text);
  return id ? std::optional(std::move(*id)) : std::nullopt;
}

StockInProgress::Turn StockLook::turn(int by_chance) const {
  std::vector<std::pair<int, std::int64_t>> held;
  std::int64_t first = now_us;
  for (const auto& [segment, row] : locks) {
    if (row.text.empty()) continue;
    held.emplace_back(segment, row.written_us);
    first = std::min(first, row.written_us);
  }
  if (held.empty()) return {};
  const auto& [segment, since] = held[static_cast<std::size_t>(by_chance) % held.size()];
  const bool of_all = head && locks.size() >= static_cast<std::size_t>(head->segments);
  return {segment, std::chrono::microseconds(since - first), of_all};
}

bool StockLook::has_old_locks() const {
  return std::any_of(locks.begin(), locks.end(), [&](const auto& one) {
    return !one.second.text.empty() && now_us - one.second.written_us >= kOldLockUs;
  });
}

Result<StockLook> look_at_stock(Rows& rows, const LockName& name, std::optional<StockHead>& known,
                                const std::vector<LockName>& ids, const Sight& sight, const CallLimit& limit) {
  while (true) {
    const bool guessed = !known;
    const int asked = !sight.segments ? 0 : known ? known->rows : kLikelySegments;
    const std::vector<int> locks = locks_in(sight, known);
    TRY_ASSIGN(const auto read, rows.read(name, keys_of(ids, asked, locks), limit));
    const Rows::Row& first = read.rows.front();
    StockLook look;
    look.now_us = read.now_us;
    look.head = first.version != 0 ? parse_head(first) : std::nullopt;
    known = look.head;
    if (first.version == 0) return look;
    if (!known) return broken_stock(name, "its head is '" + first.text + "'");
    const bool shows_all = sight.segments && known->rows <= asked;
    if (sight.segments && !shows_all && !sight.few) continue;
    if (sight.locks >= 0 && guessed && known->segments > kLikelySegments) continue;
    TRY(see_requests(look, name, ids, read.rows));
    const auto beside = std::span(read.rows).subspan(1 + 2 * ids.size());
    if (shows_all) TRY(see_segments(look, name, beside.first(static_cast<std::size_t>(known->rows))));
    for (std::size_t i = 0; i < locks.size(); ++i) {
      const bool there = locks[i] < (sight.segments ? known->rows : known->segments);
      if (there) look.locks.emplace(locks[i], beside[static_cast<std::size_t>(asked) + i]);
    }
    return look;
  }
}

}  // namespace dlock
