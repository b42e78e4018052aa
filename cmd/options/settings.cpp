// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/settings.h"

#include <array>

#include "cmd/options/forgiven.h"

namespace dlock {
namespace {

constexpr const char* kSystemFolder = "/etc/dlock";

ConfigKey::Shape shape_of(const OptionRow& row) {
  if (row.repeats) return ConfigKey::Shape::kList;
  switch (row.kind) {
    case ValueKind::kFlag:
      return ConfigKey::Shape::kFlag;
    case ValueKind::kDuration:
      return ConfigKey::Shape::kDuration;
    case ValueKind::kNumber:
      return ConfigKey::Shape::kNumber;
    case ValueKind::kText:
    case ValueKind::kFile:
    case ValueKind::kChoice:
    case ValueKind::kBackend:
      break;
  }
  return ConfigKey::Shape::kText;
}

/// The values of a repeatable option in one variable stand between blanks (a URL may have commas).
std::vector<std::string> split_at_blanks(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \t\n");
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

Setting setting_of(const OptionRow& row, std::vector<std::string> values, Origin origin) {
  return {std::string(config_section(row)), std::string(config_key(row)), std::move(values), std::move(origin)};
}

void add_flags(Config& config, const Arguments& arguments) {
  // From the last to the first: what comes later wins, and what is there stays.
  for (auto given = arguments.options.rbegin(); given != arguments.options.rend(); ++given) {
    const OptionRow& row = *given->row;
    if (config.find(config_section(row), config_key(row)) != nullptr) continue;
    std::vector<std::string> values;
    if (row.repeats) {
      for (const GivenOption& one : arguments.options) {
        if (one.row == &row) values.emplace_back(one.value);
      }
    } else {
      values.emplace_back(row.kind == ValueKind::kFlag ? "true" : given->value);
    }
    config.add(setting_of(row, std::move(values), {Origin::Layer::kFlag, given->spelled}));
  }
}

void add_environment(Config& config, const Environment& environment, Command command) {
  for (const auto& [name, value] : environment.ours) {
    for (const OptionRow& row : option_rows()) {
      if (row.variable != name || !has_option(command, row)) continue;
      auto values = row.repeats ? split_at_blanks(value) : std::vector<std::string>{std::string(value)};
      config.add(setting_of(row, std::move(values), {Origin::Layer::kEnvironment, std::string(name)}));
    }
  }
}

std::string user_folder(const Environment& environment) {
  if (!environment.config_home.empty()) return std::string(environment.config_home) + "/dlock";
  if (!environment.home.empty()) return std::string(environment.home) + "/.config/dlock";
  return {};
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  // Made on the first file that exists, never on a start without one.
  static const auto keys = [] {
    std::array<ConfigKey, static_cast<std::size_t>(OptionId::kVersion) + 1> all;
    std::size_t count = 0;
    for (const OptionRow& row : option_rows()) {
      if (row.config_key.empty()) continue;
      const bool at_the_top = config_section(row).empty();
      all[count++] = {key_of_lock(row), shape_of(row), row.of_backend, row.of_key, row.of_defaults && !at_the_top};
    }
    return std::pair(all, count);
  }();
  return {keys.first.data(), keys.second};
}

std::string_view config_section(const OptionRow& row) {
  return row.id == OptionId::kBackend ? std::string_view() : "defaults";
}

std::string_view key_of_lock(const OptionRow& row) { return row.id == OptionId::kBackend ? row.name : config_key(row); }

std::string_view config_key(const OptionRow& row) { return row.config_key.empty() ? row.name : row.config_key; }

bool finds_all_mistakes(const Arguments& arguments) {
  return arguments.command == Command::kConfig && !arguments.words.empty() && arguments.words.front() == "check";
}

Result<Config> merge_settings(const Arguments& arguments, const Environment& environment) {
  Config config;
  add_flags(config, arguments);
  // `config` shows what every command would see.
  add_environment(config, environment, arguments.command == Command::kConfig ? Command::kRun : arguments.command);
  if (environment.reads_no_files) return config;
  const auto variables = [&](std::string_view name) { return environment.find(name); };
  const ConfigRules rules{config_keys, variables};
  const OptionRow& file = option_row(OptionId::kConfig);
  if (const Setting* chosen = config.find(config_section(file), config_key(file))) {
    const std::string path = chosen->value();
    config.add_file(path, Config::Trust::kChosen, rules);
  }
  if (const std::string folder = user_folder(environment); !folder.empty()) {
    config.add_folder(folder, Config::Trust::kFound, rules);
  }
  config.add_folder(kSystemFolder, Config::Trust::kSystem, rules);
  if (finds_all_mistakes(arguments)) return config;
  if (!config.mistakes().empty()) {
    if (!goes_on_with_mistakes(arguments)) return config.mistakes().front();
    if (auto hidden = hidden_backend(config)) return *hidden;
  }
  // The doctor says it beside the rest.
  if (!config.faults().empty() && arguments.command != Command::kDoctor) return config.faults().front();
  return config;
}

}  // namespace dlock
