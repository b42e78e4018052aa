// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/whole_answer.h"

#include <cstddef>
#include <optional>

namespace dlock::mysql {
namespace {

constexpr std::size_t kPacketHead = 4;  ///< three bytes of length, the lowest first, and a number
constexpr unsigned kMostColumns = 250;  ///< in one byte; from there on it means something else
constexpr std::size_t kLongestEnd = 8;
constexpr unsigned kMoreResults = 8;
constexpr unsigned kNull = 251;
constexpr unsigned kNoNumber = 255;
constexpr std::size_t kNumberSizes[] = {0, 3, 4, 9};  ///< of those that begin with a byte from kNull on
constexpr char kColumnsFollow = '\1';
constexpr char kDone = '\0';
constexpr char kEnd = '\xfe';
constexpr char kError = '\xff';
constexpr std::string_view kProgress = "\xff\xff\xff";  ///< a report, to which the answer is still to come
constexpr std::string_view kColumn = "\3def";

unsigned byte_at(std::string_view said, std::size_t at) { return static_cast<unsigned char>(said[at]); }

/// Takes one off; nullopt: it is empty, or not whole.
std::optional<std::string_view> packet_of(std::string_view& said) {
  if (said.size() <= kPacketHead) return std::nullopt;
  const std::size_t length = byte_at(said, 0) | byte_at(said, 1) << 8U | byte_at(said, 2) << 16U;
  if (length == 0 || said.size() - kPacketHead < length) return std::nullopt;
  const std::string_view packet = said.substr(kPacketHead, length);
  said.remove_prefix(kPacketHead + length);
  return packet;
}

bool is_end(std::string_view packet) { return packet[0] == kEnd && packet.size() <= kLongestEnd; }

/// Takes off a number of one to nine bytes. False: it is none.
bool takes_number(std::string_view& packet) {
  if (packet.empty() || byte_at(packet, 0) == kNull || byte_at(packet, 0) == kNoNumber) return false;
  const std::size_t size = byte_at(packet, 0) < kNull ? 1 : kNumberSizes[byte_at(packet, 0) - kNull];
  if (packet.size() < size) return false;
  packet.remove_prefix(size);
  return true;
}

enum class Behind { kNothing, kMore };

/// `status`: what comes behind the packet's numbers.
std::optional<Behind> behind(std::string_view status) {
  if (status.size() < 2) return std::nullopt;
  return (byte_at(status, 0) & kMoreResults) == 0 ? Behind::kNothing : Behind::kMore;
}

std::optional<Behind> behind_end(std::string_view end) { return end.size() < 5 ? std::nullopt : behind(end.substr(3)); }

std::optional<Behind> behind_done(std::string_view done) {
  done.remove_prefix(1);
  return takes_number(done) && takes_number(done) ? behind(done) : std::nullopt;
}

/// Without MariaDB's word that they are left out, because they are known.
bool announces_columns(std::string_view first) {
  const bool announced = first.size() == 1 || (first.size() == 2 && first[1] == kColumnsFollow);
  return announced && byte_at(first, 0) <= kMostColumns;
}

bool takes_columns(std::string_view& said, unsigned count) {
  for (; count > 0; --count) {
    const auto column = packet_of(said);
    if (!column || !column->starts_with(kColumn)) return false;
  }
  const auto end = packet_of(said);
  return end && is_end(*end);
}

/// Nothing comes behind an error.
std::optional<Behind> takes_rows(std::string_view& said) {
  while (const auto row = packet_of(said)) {
    if ((*row)[0] == kError) return row->starts_with(kProgress) ? std::nullopt : std::optional(Behind::kNothing);
    if (is_end(*row)) return behind_end(*row);
  }
  return std::nullopt;
}

/// The answer to one statement; nullopt: it is not whole, or none that is known here.
std::optional<Behind> takes_answer(std::string_view& said) {
  const auto first = packet_of(said);
  if (!first || first->starts_with(kProgress)) return std::nullopt;
  if ((*first)[0] == kError) return Behind::kNothing;
  if ((*first)[0] == kDone) return behind_done(*first);
  if (!announces_columns(*first) || !takes_columns(said, byte_at(*first, 0))) return std::nullopt;
  return takes_rows(said);
}

}  // namespace

bool is_whole_answer(std::string_view said) {
  auto next = std::optional(Behind::kMore);
  while (next == Behind::kMore) next = takes_answer(said);
  return next && said.empty();
}

}  // namespace dlock::mysql
