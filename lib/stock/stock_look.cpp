// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_look.h"

namespace dlock {
namespace {

std::vector<std::string> keys_of(const std::vector<LockName>& ids, int segments) {
  std::vector<std::string> keys{kHeadRow};
  keys.reserve(1 + 2 * ids.size() + static_cast<std::size_t>(segments));
  for (const LockName& id : ids) {
    keys.push_back(request_row(id));
    keys.push_back(open_row(id));
  }
  for (int i = 0; i < segments; ++i) keys.push_back(segment_row(i));
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

Quantity StockLook::available() const {
  Quantity sum = 0;
  for (const SegmentCounts& one : segments) sum += one.quantity;
  return sum;
}

Quantity StockLook::reserved() const {
  Quantity sum = 0;
  for (const SegmentCounts& one : segments) sum += one.reserved;
  return sum;
}

std::vector<Quantity> StockLook::quantities() const {
  std::vector<Quantity> have;
  for (const SegmentCounts& one : segments) have.push_back(one.quantity);
  return have;
}

Result<StockLook> look_at_stock(Rows& rows, const LockName& name, std::optional<StockHead>& known,
                                const std::vector<LockName>& ids, bool all, const CallLimit& limit) {
  while (true) {
    const int asked = all && known ? known->rows : 0;
    TRY_ASSIGN(const auto read, rows.read(name, keys_of(ids, asked), limit));
    const Rows::Row& first = read.rows.front();
    StockLook look;
    look.now_us = read.now_us;
    look.head = first.version != 0 ? parse_head(first) : std::nullopt;
    known = look.head;
    if (first.version == 0) return look;
    if (!known) return broken_stock(name, "its head is '" + first.text + "'");
    if (all && known->rows != asked) continue;
    TRY(see_requests(look, name, ids, read.rows));
    TRY(see_segments(look, name, std::span(read.rows).subspan(1 + 2 * ids.size())));
    return look;
  }
}

}  // namespace dlock
