// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/message.h"

#include "lib/base/text.h"

namespace dlock {
namespace {

std::string escape(std::string_view value) {
  return percent_escaped(value, [](unsigned char c) { return c != '%' && c != '\n' && c != '\0'; });
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
  if (packet.size() > kLargestMessage) return broken_message("a message of " + digits(packet.size()) + " bytes");
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

std::string MessageReader::text(const char* name) {
  const std::string* value = message_.find(prefix_ + name);
  if (!value) fail(name);
  return value ? *value : std::string();
}

std::int64_t MessageReader::number(const char* name) {
  const auto number = whole_number<std::int64_t>(text(name));
  if (!number) fail(name);
  return number.value_or(0);
}

void MessageReader::fail(const char* name) {
  if (failed_.empty()) failed_ = prefix_ + name;
}

}  // namespace dlock
