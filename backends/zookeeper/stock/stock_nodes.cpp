// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_nodes.h"

#include <algorithm>
#include <array>

#include "backends/zookeeper/lock/names.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

/// FNV-1a, 32 bits, folded into one byte.
unsigned directory_number(std::string_view id) {
  std::uint32_t hash = 2166136261;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return (hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24) % kRequestDirectories;
}

/// Exactly `Count` words with one blank between them.
template <std::size_t Count>
std::optional<std::array<std::string_view, Count>> words_of(std::string_view text) {
  std::array<std::string_view, Count> words;
  for (std::size_t i = 0; i < Count; ++i) {
    const std::size_t end = i + 1 < Count ? text.find(' ') : text.size();
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    words[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (words.back().find(' ') != std::string_view::npos) return std::nullopt;
  return words;
}

Error no(const char* what, std::string_view text) {
  return {ErrorCode::kInvalid, "'" + std::string(utf8_prefix(text, 80)) + "' is not a " + what};
}

}  // namespace

std::string stock_path(const std::string& root, const LockName& name) {
  return own_directory(root, kStocks) + "/" + one_part(name);
}

std::string life_path(const std::string& root, const std::string& life) {
  return own_directory(root, kStockData) + "/" + life;
}

std::string segment_path(const std::string& life, int segment) {
  return life + kSegments + "/" + std::to_string(segment);
}

std::string open_path(const std::string& life, const LockName& id) { return life + kOpen + "/" + one_part(id); }

std::string requests_path(const std::string& life, int number) {
  const auto byte = static_cast<unsigned char>(number);
  return life + kRequests + "/" + hex({&byte, 1});
}

std::string request_path(const std::string& life, const LockName& id) {
  return requests_path(life, static_cast<int>(directory_number(id.text()))) + "/" + one_part(id);
}

StockCounts& StockCounts::operator+=(const StockCounts& more) {
  quantity += more.quantity;
  reserved += more.reserved;
  taken += more.taken;
  refunded += more.refunded;
  added += more.added;
  return *this;
}

std::string head_text(const StockHead& head) {
  return "1 " + head.life + " " + std::to_string(head.segments) + " " + std::to_string(head.created) + " " +
         head.maker + " " + (head.gate.empty() ? "-" : head.gate);
}

std::string counts_text(const StockCounts& counts) {
  std::string text;
  for (const Quantity number : {counts.quantity, counts.reserved, counts.taken, counts.refunded, counts.added}) {
    text.append(text.empty() ? "" : " ").append(std::to_string(number));
  }
  return text;
}

std::string note_text(const StockNote& note) { return std::to_string(note.ttl_ms) + " " + record_text(note.record); }

Result<StockHead> parse_head(std::string_view text) {
  const auto words = words_of<6>(text);
  if (!words || words->front() != "1") return no("stock", text);
  const auto& [layout, life, segments, created, maker, gate] = *words;
  const auto count = parse_quantity(segments);
  const auto quantity = parse_quantity(created, 0);
  const bool is_hex = life.size() == 16 && from_hex(life);
  if (!is_hex || !count || *count > kMostSegments || !quantity || !Owner::parse(maker)) return no("stock", text);
  return StockHead{std::string(life), static_cast<int>(*count), *quantity, std::string(maker),
                   gate == "-" ? std::string() : std::string(gate)};
}

Result<StockCounts> parse_counts(std::string_view text) {
  const auto words = words_of<5>(text);
  if (!words) return no("segment", text);
  std::array<Quantity, 5> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_quantity((*words)[i], 0);
    if (!number) return no("segment", text);
    numbers[i] = *number;
  }
  return StockCounts{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

Result<StockNote> parse_note(std::string_view text) {
  const std::size_t end = text.find(' ');
  const auto ttl = parse_quantity(text.substr(0, end), 0);
  auto record = parse_record(end == std::string_view::npos ? std::string_view() : text.substr(end + 1));
  if (!ttl || !record) return no("request", text);
  return StockNote{std::move(*record), *ttl};
}

}  // namespace dlock::zookeeper
