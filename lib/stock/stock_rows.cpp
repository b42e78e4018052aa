// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_rows.h"

#include <array>

#include "lib/base/text.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace {

using ChangeKind = Rows::Change::Kind;
using State = RequestRecord::State;

constexpr int kMostRows = 1'000'000;

Rows::Change put(std::string key, Rows::Number version, std::string text) {
  return {ChangeKind::kPut, std::move(key), version, std::move(text)};
}
Rows::Change remove(std::string key, Rows::Number version) { return {ChangeKind::kRemove, std::move(key), version}; }
Rows::Change check(std::string key, Rows::Number version) { return {ChangeKind::kCheck, std::move(key), version}; }

std::string reservation_text(const RequestRecord& record, Duration ttl, std::optional<Rows::Number> locks) {
  return std::to_string(std::chrono::ceil<std::chrono::microseconds>(ttl).count()) + " " +
         (locks ? std::to_string(*locks) : "-") + " " + record_text(record);
}

/// The locks that a reservation leaves behind, and who waits for them is told.
void unlock(Rows::Commit& commit, const SeenRequest& seen) {
  if (!seen.locks) return;
  for (const StockPart& part : seen.record->parts) {
    commit.push_back(put(lock_row(part.segment), *seen.locks, {}));
    commit.push_back({.kind = ChangeKind::kTell, .key = lock_row(part.segment)});
  }
}

void move_parts(SegmentChanges& changes, const StockParts& parts, const SegmentCounts& each) {
  for (const auto& [segment, quantity] : parts) {
    changes.move(segment, {each.quantity * quantity, each.reserved * quantity, each.taken * quantity, 0});
  }
}

Rows::Commit with_parts(Rows::Commit commit, const StockParts& parts, const SegmentCounts& each) {
  SegmentChanges changes;
  move_parts(changes, parts, each);
  changes.add_to(commit);
  return commit;
}

}  // namespace

std::string segment_row(int segment) { return "segment/" + std::to_string(segment); }
std::string lock_row(int segment) { return "lock/" + std::to_string(segment); }
std::string open_row(const LockName& id) { return kOpenRows + id.text(); }
std::string request_row(const LockName& id) { return std::string(kStockSpace.many) + id.text(); }

std::string head_text(const StockHead& head) {
  const std::array<std::int64_t, 4> numbers{head.segments, head.rows, head.created, head.added};
  return numbers_text(numbers) + " " + head.maker;
}

std::optional<StockHead> parse_head(const Rows::Row& row) {
  std::string_view rest = row.text;
  std::array<std::int64_t, 4> numbers{};
  for (std::int64_t& number : numbers) {
    const auto one = whole_number<std::int64_t>(cut(rest, ' '));
    if (!one || *one < 0 || *one > kMostItems) return std::nullopt;
    number = *one;
  }
  if (numbers[0] < 1 || numbers[1] < numbers[0] || numbers[1] > kMostRows) return std::nullopt;
  return StockHead{static_cast<int>(numbers[0]),
                   static_cast<int>(numbers[1]),
                   numbers[2],
                   numbers[3],
                   std::string(rest),
                   row.version};
}

std::string counts_text(const SegmentCounts& counts) {
  return numbers_text(std::array<std::int64_t, 4>{counts.quantity, counts.reserved, counts.taken, counts.refunded});
}

std::optional<SegmentCounts> parse_counts(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  if (!read_numbers(text, numbers)) return std::nullopt;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number > kMostItems) return std::nullopt;
  }
  return SegmentCounts{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Result<SeenRequest> see_request(const Rows::Row& request, const Rows::Row& open) {
  if (request.version == 0 && open.version == 0) return SeenRequest{};
  const bool is_open = open.version != 0;
  std::string_view text = is_open ? open.text : request.text;
  const auto ttl = is_open ? whole_number<std::int64_t>(cut(text, ' ')) : 0;
  const std::string_view locks = is_open ? cut(text, ' ') : "-";
  auto version = whole_number<Rows::Number>(locks);
  if (version == Rows::Number(0)) version = open.version;
  auto record = parse_record(text);
  if (!record) return record.error();
  if (!ttl || (!version && locks != "-") || (record->state == State::kReserved) != is_open) {
    return Error{ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' is in the wrong row"};
  }
  return SeenRequest{std::move(*record), request.version, open.version, open.written_us + *ttl, version};
}

void SegmentChanges::move(int segment, const SegmentCounts& change) {
  SegmentCounts& sum = changes_[segment];
  sum.quantity += change.quantity;
  sum.reserved += change.reserved;
  sum.taken += change.taken;
  sum.refunded += change.refunded;
}

void SegmentChanges::add_to(Rows::Commit& commit) const {
  for (const auto& [segment, by] : changes_) {
    commit.push_back(
        {ChangeKind::kAdd, segment_row(segment), 0, {}, {by.quantity, by.reserved, by.taken, by.refunded}});
  }
}

Rows::Commit sale_commit(const LockName& id, const RequestRecord& record) {
  return with_parts({put(request_row(id), 0, record_text(record))}, record.parts, {.quantity = -1, .taken = 1});
}

Rows::Commit reservation_commit(const LockName& id, const RequestRecord& record, Duration ttl, bool locks) {
  const auto version = locks ? std::optional(Rows::Number(0)) : std::nullopt;
  Rows::Commit commit{put(request_row(id), 0, record_text(record)),
                      put(open_row(id), 0, reservation_text(record, ttl, version))};
  for (const StockPart& part : locks ? record.parts : StockParts()) {
    commit.push_back({.kind = ChangeKind::kFill, .key = lock_row(part.segment), .text = id.text()});
  }
  return with_parts(std::move(commit), record.parts, {.quantity = -1, .reserved = 1, .taken = 1});
}

Rows::Commit extension_commit(const LockName& id, const SeenRequest& seen, Duration ttl) {
  return {put(open_row(id), seen.open, reservation_text(*seen.record, ttl, seen.locks))};
}

Rows::Commit confirmation_commit(const LockName& id, const SeenRequest& seen) {
  RequestRecord sold = *seen.record;
  sold.state = State::kTaken;
  Rows::Commit commit{remove(open_row(id), seen.open), put(request_row(id), seen.version, record_text(sold))};
  unlock(commit, seen);
  return with_parts(std::move(commit), sold.parts, {.reserved = -1});
}

Rows::Commit return_commit(const LockName& id, const SeenRequest& seen, const StockHead& head) {
  Rows::Commit commit{remove(open_row(id), seen.open), check(kHeadRow, head.version)};
  if (seen.version != 0) commit.push_back(remove(request_row(id), seen.version));
  unlock(commit, seen);
  SegmentChanges changes;
  for (const auto& [segment, quantity] : seen.record->parts) {
    changes.move(segment, {.reserved = -quantity, .taken = -quantity});
    changes.move(home_of(segment, head.segments), {.quantity = quantity});
  }
  changes.add_to(commit);
  return commit;
}

Rows::Commit refund_commit(const LockName& id, const SeenRequest& seen, const RefundPlan& plan, const StockHead& head) {
  Rows::Commit commit{put(request_row(id), seen.version, record_text(plan.record))};
  if (!plan.back.empty()) commit.push_back(check(kHeadRow, head.version));
  SegmentChanges changes;
  for (const auto& [segment, quantity] : plan.back) {
    changes.move(home_of(segment, head.segments), {.quantity = quantity, .refunded = quantity});
  }
  changes.add_to(commit);
  return commit;
}

Rows::Commit restock_commit(const LockName& id, const RequestRecord& record, StockHead head) {
  head.added += record.quantity;
  return with_parts({put(request_row(id), 0, record_text(record)), put(kHeadRow, head.version, head_text(head))},
                    record.parts, {.quantity = 1});
}

Rows::Commit move_commit(const std::vector<Quantity>& by, const StockHead& head) {
  Rows::Commit commit{check(kHeadRow, head.version)};
  SegmentChanges changes;
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i] != 0) changes.move(static_cast<int>(i), {.quantity = by[i]});
  }
  changes.add_to(commit);
  return commit;
}

}  // namespace dlock
