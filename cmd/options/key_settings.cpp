// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/key_settings.h"

#include <string>

#include "cmd/options/settings.h"

namespace dlock {
namespace {

/// A key with its sections, the most specific first.
struct KeySections {
  std::string_view key;
  std::vector<std::string> sections;
};

const Setting* find_in(const Config& config, const KeySections& of, const OptionRow& row) {
  for (const std::string& section : of.sections) {
    if (const Setting* setting = config.find(section, key_of_lock(row))) return setting;
  }
  return nullptr;
}

std::string told(const Setting* setting, std::string_view key) {
  if (setting == nullptr) return "not set for " + std::string(key);
  return setting->value() + " for " + std::string(key) + " (" + setting->origin.text() + ")";
}

Error disagree(const OptionRow& row, const std::string& one, const std::string& other) {
  return {
      ErrorCode::kMisconfigured,
      "keys that are taken together have one " + std::string(key_of_lock(row)) + ": it is " + one + ", and " + other,
      "say it for all of them with --" + std::string(row.name) + ", or take one after the other"};
}

bool is_decided(const Config& config, const OptionRow& row) {
  const Setting* general = config.find(config_section(row), config_key(row));
  return general != nullptr && general->origin.layer != Origin::Layer::kFile;
}

Result<void> choose(Config& config, const std::vector<KeySections>& keys, const OptionRow& row) {
  const Setting* chosen = find_in(config, keys.front(), row);
  for (const KeySections& other : keys) {
    const Setting* theirs = find_in(config, other, row);
    const bool same = chosen == nullptr || theirs == nullptr ? chosen == theirs : chosen->values == theirs->values;
    if (!same) return disagree(row, told(chosen, keys.front().key), told(theirs, other.key));
  }
  if (chosen == nullptr) return {};
  Setting copy = *chosen;
  copy.section = kChosenForKeys;
  config.add(std::move(copy));
  return {};
}

}  // namespace

std::vector<std::string_view> lock_keys(const Arguments& arguments) {
  const auto& words = arguments.words;
  switch (command_row(arguments.command).shape) {
    case Operands::kKeysAndCommand:
    case Operands::kAnyKeys:
      return words;
    case Operands::kOneKey:
    case Operands::kKeyAndToken:
      if (words.empty()) return {};
      return {words.front()};
    case Operands::kConfig:
      if (words.size() < 2) return {};
      return {words[1]};
    case Operands::kFence:  // a RESOURCE is no lock
    case Operands::kStock:
    case Operands::kOneWord:
    case Operands::kMaybeCommand:
    case Operands::kMaybeWord:
    case Operands::kNone:
      break;
  }
  return {};
}

Result<void> choose_key_settings(Config& config, const std::vector<std::string_view>& keys, Command command) {
  if (keys.empty() || config.key_sections().empty()) return {};
  std::vector<KeySections> all;
  for (const std::string_view key : keys) all.push_back({key, config.key_sections_for(key)});
  for (const OptionRow& row : option_rows()) {
    const bool counts = row.of_key && (has_option(command, row) || command == Command::kConfig);
    if (!counts || is_decided(config, row)) continue;
    if (auto chosen = choose(config, all, row); !chosen) return chosen;
  }
  return {};
}

}  // namespace dlock
