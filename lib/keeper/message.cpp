// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/message.h"

#include "lib/lock/slots.h"

namespace dlock {
namespace {

std::string escape(std::string_view value) {
  return percent_escaped(value, [](unsigned char c) { return c != '%' && c != '\n' && c != '\0'; });
}

template <typename T>
bool take_parsed(Result<T> parsed, T& value) {
  if (parsed) value = std::move(*parsed);
  return static_cast<bool>(parsed);
}

}  // namespace

Error broken_message(const std::string& what) {
  return {ErrorCode::kInvalid, "the keeper and dlock do not understand each other: " + what,
          "are dlock and its backend packages of one version? dlock --version"};
}

const std::string* Message::find(const std::string& name) const {
  const auto at = fields.find(name);
  return at == fields.end() ? nullptr : &at->second;
}

std::string encode(const Message& message) {
  std::string packet = message.verb;
  for (const auto& [name, value] : message.fields) packet += "\n" + name + "=" + escape(value);
  return packet;
}

Result<Message> decode(std::string_view packet) {
  if (packet.size() > kLargestMessage) return broken_message("a message of " + field_text(packet.size()) + " bytes");
  Message message;
  message.verb = cut(packet, '\n');
  if (message.verb.empty() || message.verb.find('=') != std::string::npos)
    return broken_message("a message without a verb");
  while (!packet.empty()) {
    std::string_view line = cut(packet, '\n');
    const bool has_value = line.find('=') != std::string_view::npos;
    const std::string_view name = cut(line, '=');
    auto value = percent_unescaped(line);
    if (!has_value || name.empty() || !value)
      return broken_message("a line without name or value in '" + message.verb + "'");
    message.fields[std::string(name)] = std::move(*value);
  }
  return message;
}

std::string field_text(const std::vector<std::string>& slots) { return slots_text(slots); }

bool read_field(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool read_field(const std::string& text, FencingToken& token) {
  return take_parsed(FencingToken::parse_any(text), token);
}
bool read_field(const std::string& text, Owner& owner) { return take_parsed(Owner::parse(text), owner); }
bool read_field(const std::string& text, LockName& name) { return take_parsed(LockName::parse_stored(text), name); }
bool read_field(const std::string& text, std::vector<std::string>& slots) {
  return take_parsed(parse_slots(text), slots);
}

}  // namespace dlock
