// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/stock_draft.h"

#include <span>

#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

/// So many requests are asked for at once, and those whose records are longer than this one by one: together they are
/// no more than a server may answer.
constexpr std::size_t kMostIds = 256;
constexpr char kLongestRecord[] = "2000";
/// Of rows in one statement, in bytes.
constexpr std::size_t kMostRows = 256UL * 1024;

std::vector<std::span<const LockName>> in_pieces(std::span<const LockName> ids) {
  std::vector<std::span<const LockName>> pieces;
  for (std::size_t at = 0; at < ids.size(); at += kMostIds) {
    pieces.push_back(ids.subspan(at, std::min(kMostIds, ids.size() - at)));
  }
  return pieces;
}

std::string is_among(std::span<const LockName> ids) {
  std::string text = " AND id IN(";
  for (const LockName& id : ids) text += literal(id.text()) + ",";
  text.back() = ')';
  return text;
}

/// ",quantity=quantity+(-3)"
std::string more(const char* column, Quantity quantity) {
  if (quantity == 0) return {};
  return "," + std::string(column) + "=" + column + "+(" + std::to_string(quantity) + ")";
}

void add_row(std::string& rows, const std::string& values) { rows += (rows.empty() ? "(" : ",(") + values + ")"; }

}  // namespace

void StockDraft::begin() {
  records_.clear();
  segments_.reset();
  tokens_.clear();
  untold_.clear();
  moves_.clear();
  requests_.clear();
  reservations_.clear();
  behind_.clear();
}

std::string StockDraft::of_stock(const char* table) const { return std::string(table) + " WHERE stock=" + key_; }
std::string StockDraft::is_request(const LockName& id) const {
  return "stock=" + key_ + " AND id=" + literal(id.text());
}

std::vector<Row> StockDraft::read(const std::string& query) {
  flush();
  return transaction_.read(query);
}

void StockDraft::look_ahead(const std::vector<LockName>& ids) {
  for (const auto& piece : in_pieces(ids)) {
    const auto rows = read("SELECT id,IF(LENGTH(record)<=" + std::string(kLongestRecord) + ",record,NULL) FROM " +
                           of_stock(kRequestTable) + is_among(piece) + " ORDER BY id FOR UPDATE;" + segments_query());
    for (const LockName& id : piece) records_[id].reset();
    for (const Row& row : rows) {
      if (row.size() != 2) continue;
      const auto id = LockName::parse(text_of(row, 0));
      if (id && row[1]) records_[*id] = row[1];
      else if (id) records_.erase(*id);
    }
    read_segments(rows);
  }
}

std::optional<std::string> StockDraft::record(const LockName& id) {
  const auto known = records_.find(id);
  if (known != records_.end()) return known->second;
  const auto rows =
      read("SELECT record FROM " + std::string(kRequestTable) + " WHERE " + is_request(id) + " FOR UPDATE");
  return records_[id] = rows.empty() ? std::nullopt : std::optional(text_of(rows.front(), 0));
}

const std::vector<StockSegment>& StockDraft::segments() {
  if (!segments_) read_segments(read(segments_query()));
  return *segments_;
}

std::string StockDraft::segments_query() const {
  return "SELECT segment,quantity,reserved FROM " + of_stock(kSegmentTable) + " ORDER BY segment FOR UPDATE";
}

void StockDraft::read_segments(const std::vector<Row>& rows) {
  segments_.emplace();
  for (const Row& row : rows) {
    if (row.size() != 3) continue;
    if (number_of(row, 0) != static_cast<std::int64_t>(segments_->size())) return;
    segments_->push_back({number_of(row, 1), number_of(row, 2)});
  }
}

/// All that are not sent yet, at once.
FencingToken StockDraft::token(const LockName& id) {
  if (const auto known = tokens_.find(id); known != tokens_.end()) return known->second;
  untold_.insert(id);
  const std::vector<LockName> ids(untold_.begin(), untold_.end());
  untold_.clear();
  for (const auto& piece : in_pieces(ids)) {
    for (const Row& row : read("SELECT id,token FROM " + of_stock(kReservationTable) + is_among(piece))) {
      if (const auto one = LockName::parse(text_of(row, 0))) {
        tokens_[*one] = FencingToken(leading_number<std::uint64_t>(text_of(row, 1)));
      }
    }
  }
  return tokens_[id];
}

void StockDraft::move(int segment, const StockLedger::Change& change) {
  StockLedger::Change& sum = moves_[segment];
  sum.quantity += change.quantity;
  sum.reserved += change.reserved;
  sum.taken += change.taken;
  sum.refunded += change.refunded;
  const auto index = static_cast<std::size_t>(segment);
  if (!segments_ || index >= segments_->size()) return;
  (*segments_)[index].quantity += change.quantity;
  (*segments_)[index].reserved += change.reserved;
}

void StockDraft::insert(const LockName& id, const std::string& record, std::optional<Duration> ttl) {
  const std::string begin = key_ + "," + literal(id.text()) + ",";
  add_row(requests_, begin + literal(record));
  records_[id] = record;
  tokens_.erase(id);
  if (ttl) {
    add_row(reservations_, begin + end_after(*ttl));
    untold_.insert(id);
  }
  if (requests_.size() > kMostRows) write_requests();
}

void StockDraft::rewrite(const LockName& id, const std::string& record, std::optional<Duration> ttl) {
  const std::string where = " WHERE " + is_request(id);
  write_requests();
  transaction_.write("UPDATE " + std::string(kRequestTable) + " SET record=" + literal(record) + where);
  close_reservations();
  if (ttl) {
    behind_ += ";UPDATE " + std::string(kReservationTable) + " SET expires=" + end_after(*ttl) + where;
  } else {
    behind_ += ";DELETE FROM " + std::string(kReservationTable) + where;
  }
  records_[id] = record;
}

void StockDraft::forget(const LockName& id) {
  write_requests();
  transaction_.write("DELETE FROM " + std::string(kRequestTable) + " WHERE " + is_request(id));
  close_reservations();
  behind_ += ";DELETE FROM " + std::string(kReservationTable) + " WHERE " + is_request(id);
  records_[id].reset();
  tokens_.erase(id);
}

void StockDraft::flush() {
  write_requests();
  for (const auto& [segment, change] : std::exchange(moves_, {})) {
    transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1" +
                       more("quantity", change.quantity) + more("reserved", change.reserved) +
                       more("taken", change.taken) + more("refunded", change.refunded) + " WHERE stock=" + key_ +
                       " AND segment=" + std::to_string(segment));
  }
  close_reservations();
  if (!behind_.empty()) transaction_.write(std::exchange(behind_, {}).substr(1));
}

void StockDraft::write_requests() {
  if (requests_.empty()) return;
  transaction_.write("INSERT INTO " + std::string(kRequestTable) + "(stock,id,record) VALUES" +
                     std::exchange(requests_, {}));
}

void StockDraft::close_reservations() {
  if (reservations_.empty()) return;
  behind_ +=
      ";INSERT INTO " + std::string(kReservationTable) + "(stock,id,expires) VALUES" + std::exchange(reservations_, {});
}

}  // namespace dlock::mysql
