// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/terminal_keys.h"

#include <optional>
#include <string_view>

namespace dlock {
namespace {

constexpr char kEsc = '\033';
constexpr char kDelete = '\177';

/// Of a whole sequence, without its Esc: "[A", "OA", "[5~".
std::optional<Key> sequence_key(std::string_view sequence) {
  struct Known {
    std::string_view sequence;
    Key::Kind kind;
  };
  static constexpr Known kSequences[] = {
      {"[A", Key::Kind::kUp},      {"OA", Key::Kind::kUp},        {"[B", Key::Kind::kDown},  {"OB", Key::Kind::kDown},
      {"[5~", Key::Kind::kPageUp}, {"[6~", Key::Kind::kPageDown}, {"[H", Key::Kind::kHome},  {"OH", Key::Kind::kHome},
      {"[1~", Key::Kind::kHome},   {"[7~", Key::Kind::kHome},     {"[F", Key::Kind::kEnd},   {"OF", Key::Kind::kEnd},
      {"[4~", Key::Kind::kEnd},    {"[8~", Key::Kind::kEnd},      {"OM", Key::Kind::kEnter},
  };
  for (const Known& known : kSequences) {
    if (known.sequence == sequence) return Key{known.kind};
  }
  return std::nullopt;
}

std::optional<Key> plain_key(char byte) {
  if (byte == '\n' || byte == '\r') return Key{Key::Kind::kEnter};
  if (byte == kDelete || byte == '\b') return Key{Key::Kind::kBackspace};
  if (static_cast<unsigned char>(byte) < ' ') return std::nullopt;
  return Key{Key::Kind::kText, byte};
}

}  // namespace

std::vector<Key> KeyReader::feed(char byte) {
  std::vector<Key> keys;
  if (pending_.size() == 1 && byte != '[' && byte != 'O') keys = flush();  // Esc, and then another key
  if (byte == kEsc) {
    pending_ = byte;
    return keys;
  }
  if (pending_.empty()) {
    if (const auto key = plain_key(byte)) keys.push_back(*key);
    return keys;
  }
  pending_ += byte;
  const bool whole = pending_.size() > 2 && byte >= '@' && byte <= '~';
  if (!whole) return keys;
  if (const auto key = sequence_key(std::string_view(pending_).substr(1))) keys.push_back(*key);
  pending_.clear();
  return keys;
}

std::vector<Key> KeyReader::flush() {
  const bool alone = pending_.size() == 1;
  pending_.clear();
  return alone ? std::vector<Key>{{Key::Kind::kEscape}} : std::vector<Key>();
}

}  // namespace dlock
