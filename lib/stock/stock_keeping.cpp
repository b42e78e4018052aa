// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_keeping.h"

#include <algorithm>
#include <span>

#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_decisions.h"
#include "lib/stock/stock_look.h"
#include "lib/stock/stock_rows.h"

namespace dlock {
namespace {

using State = RequestRecord::State;

constexpr std::size_t kMostTogether = 200;    ///< requests that are looked at in one go
constexpr std::size_t kMostTransfers = 1000;  ///< between segments, in one commit

/// The keys that begin with `prefix`, without it.
Result<std::vector<LockName>> ids_below(StockCalls& calls, const LockName& name, std::string_view prefix,
                                        const CallLimit& limit) {
  TRY_ASSIGN(const auto keys,
             calls.until_answered([&] { return calls.rows().list(name, std::string(prefix), limit); }, limit));
  std::vector<LockName> ids;
  for (const std::string& key : keys) {
    auto id = LockName::parse(std::string_view(key).substr(prefix.size()));
    if (!id) return broken_stock(name, "'" + key + "' among its rows is not a request");
    ids.push_back(std::move(*id));
  }
  return ids;
}

template <typename Use>
Result<void> in_portions(const std::vector<LockName>& ids, Use use) {
  for (std::size_t at = 0; at < ids.size(); at += kMostTogether) {
    const auto end = std::min(ids.size(), at + kMostTogether);
    TRY(use(std::vector<LockName>(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                  ids.begin() + static_cast<std::ptrdiff_t>(end))));
  }
  return {};
}

Result<int> give_back_over(StockCalls& calls, const LockName& name, const StockLook& look, const CallLimit& limit) {
  std::vector<Rows::Commit> commits;
  for (const auto& [id, seen] : look.requests) {
    if (look.head && seen.is_over(look.now_us)) commits.push_back(return_commit(id, seen, *look.head));
  }
  if (commits.empty()) return 0;
  int back = 0;
  for (const auto& number : calls.commit_each(name, commits, Rows::Tell::kMade, limit)) {
    if (!number) return number.error();
    back += *number != 0 ? 1 : 0;  // who was faster has given it back, or prolonged it
  }
  return back;
}

StockState state_of(const LockName& name, const StockLook& seen) {
  const StockHead& head = *seen.head;
  StockState state{.name = name, .segments = {}, .created = head.created, .added = head.added};
  state.segments.resize(static_cast<std::size_t>(head.segments));
  for (int i = 0; i < head.rows; ++i) {
    const SegmentCounts& counts = seen.segments[static_cast<std::size_t>(i)];
    StockSegment& home = state.segments[static_cast<std::size_t>(home_of(i, head.segments))];
    home.quantity += counts.quantity;
    home.reserved += counts.reserved;
    if (auto holder = seen.lock_holder(i)) home.locked_by = std::move(holder);
    state.taken += counts.taken - counts.reserved;
    state.refunded += counts.refunded;
  }
  for (const auto& [id, request] : seen.requests) state.open += request.is_open() ? 1 : 0;
  return state;
}

const char* kind_of(const RequestRecord& record) {
  if (record.state == State::kAdded) return "add";
  if (record.state == State::kRefused) return "refund";
  return record.owner.empty() ? "take" : "run";
}

const char* state_of(const RequestRecord& record) {
  switch (record.state) {
    case State::kReserved:
      return "reserved";
    case State::kTaken:
      return "sold";
    case State::kRefunded:
      return "refunded";
    case State::kRefused:
      return "closed";
    case State::kAdded:
      return "added";
  }
  return "";
}

Result<void> read_requests(StockCalls& calls, const LockName& name, const std::vector<LockName>& ids,
                           std::vector<KnownRequest>& known, const CallLimit& limit) {
  std::vector<std::string> keys;
  for (const LockName& id : ids) keys.push_back(request_row(id));
  TRY_ASSIGN(const auto look, calls.until_answered([&] { return calls.rows().read(name, keys, limit); }, limit));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Rows::Row& row = look.rows[i];
    if (row.version == 0) continue;  // gone since
    const auto record = parse_record(row.text);
    if (!record) return broken_stock(name, "request '" + ids[i].text() + "': " + record.error().message);
    known.push_back({ids[i], kind_of(*record), state_of(*record), record->quantity, record->refunded, record->parts,
                     row.written_us});
  }
  return {};
}

Result<bool> use_segments(StockCalls& calls, const LockName& name, StockHead head, int segments,
                          const CallLimit& limit) {
  Rows::Commit commit;
  for (int i = head.rows; i < segments; ++i) commit.push_back({.key = segment_row(i), .text = counts_text({})});
  head.segments = segments;
  head.rows = std::max(head.rows, segments);
  commit.push_back({.key = kHeadRow, .version = head.version, .text = head_text(head)});
  TRY_ASSIGN(const auto number, calls.commit(name, commit, limit));
  return number != 0;
}

}  // namespace

Result<int> sweep_stock(StockCalls& calls, const LockName& name, const CallLimit& limit) {
  TRY_ASSIGN(const auto ids, ids_below(calls, name, kOpenRows, limit));
  int swept = 0;
  const auto give_back = [&](const std::vector<LockName>& some) -> Result<void> {
    TRY_ASSIGN(const auto seen, calls.look(name, some, {}, limit));
    TRY_ASSIGN(const int back, give_back_over(calls, name, seen, limit));
    swept += back;
    return {};
  };
  TRY(in_portions(ids, give_back));
  return swept;
}

Result<void> create_stock(StockCalls& calls, const LockName& name, Quantity quantity, int segments, const Owner& maker,
                          const CallLimit& limit) {
  Rows::Commit commit{{.key = kHeadRow, .text = head_text({segments, segments, quantity, 0, maker.text()})}};
  int segment = 0;
  for (const Quantity each : spread(quantity, segments)) {
    commit.push_back({.key = segment_row(segment++), .text = counts_text({each})});
  }
  for (int races = 0;; ++races) {
    TRY(calls.race(name, races, limit));
    TRY_ASSIGN(const auto seen, calls.look(name, {}, {}, limit));
    if (seen.head) return seen.head->maker == maker.text() ? Result<void>() : stock_exists(name, calls.store());
    TRY_ASSIGN(const auto made, calls.commit(name, commit, limit));
    if (made != 0) return {};
  }
}

Result<StockState> show_stock(StockCalls& calls, const LockName& name, const CallLimit& limit) {
  while (true) {
    TRY_ASSIGN(const auto ids, ids_below(calls, name, kOpenRows, limit));
    TRY_ASSIGN(const auto seen, calls.look(name, ids, {true, 0}, limit));
    if (!seen.head) return no_such_stock(name, calls.store());
    TRY_ASSIGN(const int back, give_back_over(calls, name, seen, limit));
    if (back == 0) return state_of(name, seen);
  }
}

Result<std::vector<KnownRequest>> known_requests(StockCalls& calls, const LockName& name, std::size_t most,
                                                 const CallLimit& limit) {
  TRY_ASSIGN(const auto seen, calls.look(name, {}, {}, limit));
  if (!seen.head) return no_such_stock(name, calls.store());
  TRY(sweep_stock(calls, name, limit));
  TRY_ASSIGN(const auto ids, ids_below(calls, name, kStockSpace.many, limit));
  std::vector<KnownRequest> known;
  const auto newer = [](const KnownRequest& a, const KnownRequest& b) { return a.changed_us > b.changed_us; };
  const auto keep_newest = [&] {
    std::stable_sort(known.begin(), known.end(), newer);
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(std::min(most, known.size())), known.end());
  };
  const auto read_some = [&](const std::vector<LockName>& some) -> Result<void> {
    TRY(read_requests(calls, name, some, known, limit));
    if (known.size() >= 2 * most) keep_newest();
    return {};
  };
  TRY(in_portions(ids, read_some));
  keep_newest();
  return known;
}

namespace {

/// Sets `changed` as soon as something is, though not yet all.
Result<void> level(StockCalls& calls, const LockName& name, int segments, bool& changed, const CallLimit& limit) {
  std::size_t most = kMostTransfers;
  for (int races = 0;; ++races) {
    TRY(calls.race(name, races, limit));
    TRY_ASSIGN(const auto seen, calls.look(name, {}, {true}, limit));
    if (!seen.head) return no_such_stock(name, calls.store());
    if (segments != 0 && segments != seen.head->segments) {
      TRY_ASSIGN(const bool used, use_segments(calls, name, *seen.head, segments, limit));
      changed = changed || used;
      if (used) segments = 0, races = -1;
      continue;
    }
    const auto have = seen.quantities();
    auto want = spread(seen.available(), seen.head->segments);
    want.resize(have.size());
    const auto plan = transfers(have, want);
    if (plan.empty()) return {};
    const auto some = std::span(plan).first(std::min(most, plan.size()));
    TRY_ASSIGN(const auto moved, calls.commit(name, move_commit(by_segment(some, have.size()), *seen.head), limit));
    if (moved != 0 && some.size() == plan.size()) return {};
    most = moved == 0 ? std::max<std::size_t>(1, some.size() / 2) : 2 * most;
    changed = changed || moved != 0;
    if (moved != 0) races = -1;
  }
}

}  // namespace

Result<void> level_stock(StockCalls& calls, const LockName& name, int segments, const CallLimit& limit) {
  bool changed = false;
  const auto done = level(calls, name, segments, changed, limit);
  if (done || !changed) return done;
  Error error = done.error();
  error.undone = false;
  return error;
}

Result<void> drop_stock(StockCalls& calls, const LockName& name, std::optional<std::string>& unanswered,
                        const CallLimit& limit) {
  const std::vector<std::string> head{kHeadRow};
  for (int races = 0;; ++races) {
    TRY(calls.race(name, races, limit));
    TRY_ASSIGN(const auto seen, calls.until_answered([&] { return calls.rows().read(name, head, limit); }, limit));
    const Rows::Number version = seen.rows.front().version;
    const auto known = parse_head(seen.rows.front());
    const std::string maker = known ? known->maker : "";
    const bool is_it = version != 0 && unanswered.value_or(maker) == maker;
    if (!is_it) return unanswered ? Result<void>() : no_such_stock(name, calls.store());
    const Rows::Commit commit{{Rows::Change::Kind::kCheck, kHeadRow, version}, {.kind = Rows::Change::Kind::kClear}};
    const auto gone = calls.commit(name, commit, limit);
    if (calls.is_unsure()) unanswered = maker;
    if (!gone) return gone.error();
    if (*gone != 0) return {};
  }
}

}  // namespace dlock
