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

bool is_last_end(std::string_view end) { return end.size() >= 5 && (byte_at(end, 3) & kMoreResults) == 0; }

bool takes_columns(std::string_view& said, unsigned count) {
  for (; count > 0; --count) {
    const auto column = packet_of(said);
    if (!column || !column->starts_with(kColumn)) return false;
  }
  const auto end = packet_of(said);
  return end && is_end(*end);
}

}  // namespace

bool is_whole_answer(std::string_view said) {
  const auto first = packet_of(said);
  if (!first || first->starts_with(kProgress)) return false;
  if ((*first)[0] == kDone || (*first)[0] == kError) return said.empty();
  if (first->size() != 1 || byte_at(*first, 0) > kMostColumns || !takes_columns(said, byte_at(*first, 0))) return false;
  while (const auto row = packet_of(said)) {
    if ((*row)[0] == kError) return said.empty() && !row->starts_with(kProgress);
    if (is_end(*row)) return said.empty() && is_last_end(*row);
  }
  return false;
}

}  // namespace dlock::mysql
