// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/settings.h"

#include <algorithm>

#include "cmd/options/option_reader.h"
#include "cmd/options/option_table.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr const char* kSystemFolder = "/etc/dlock";

ConfigKey::Shape shape_of(const OptionRow& row) {
  using Shape = ConfigKey::Shape;
  const ValueKind kind = row.value.kind;
  if (row.repeats) return Shape::kList;
  if (kind == ValueKind::kFlag) return Shape::kFlag;
  if (kind == ValueKind::kDuration) return Shape::kDuration;
  return kind == ValueKind::kNumber ? Shape::kNumber : Shape::kText;
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
      values.emplace_back(row.value.kind == ValueKind::kFlag ? "true" : given->value);
    }
    config.add(setting_of(row, std::move(values), {Origin::Layer::kFlag, given->spelled}));
  }
}

/// A lease may be where its `acquire` has fallen back to.
bool heeds(Command command, const OptionRow& row) {
  const bool of_lease = command == Command::kRenew || command == Command::kRelease || command == Command::kCheck;
  return has_option(command, row) || (of_lease && row.id == OptionId::kFallback);
}

void add_environment(Config& config, const Environment& environment, Command command) {
  for (const auto& [name, value] : environment.ours) {
    for (const OptionRow& row : option_rows()) {
      if (row.variable != name || !heeds(command, row)) continue;
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

/// Why they, too, are refused if the mistake may be in what names the store, and neither a flag nor the environment
/// names one: looking at another store than the one that is meant is worse than not looking.
std::optional<Error> hidden_backend(const Config& config) {
  const OptionRow& row = option_row(OptionId::kBackend);
  const Setting* named = config.find(config_section(row), config_key(row));
  const bool typed = named != nullptr && named->origin.layer != Origin::Layer::kFile;
  if (typed || !config.hides_backend()) return std::nullopt;
  Error error = config.mistakes().front();
  error.next += std::string(error.next.empty() ? "" : "; ") +
                "until it is mended, name the store with --backend URL: that line may be the one that names it";
  return error;
}

/// A key with its sections, the most specific first.
struct KeySections {
  std::string_view key;
  std::vector<std::string> sections;
};

const Setting* find_in(const Config& config, const KeySections& of, const OptionRow& row) {
  for (const std::string& section : of.sections) {
    if (const Setting* setting = config.find(section, row.name)) return setting;
  }
  return nullptr;
}

std::string where_set(const Setting* setting, std::string_view key) {
  if (setting == nullptr) return "not set for " + std::string(key);
  return setting->value() + " for " + std::string(key) + " (" + setting->origin.text() + ")";
}

Error disagree(const OptionRow& row, const std::string& one, const std::string& other) {
  return {ErrorCode::kMisconfigured,
          "keys that are taken together need the same " + std::string(row.name) + ": it is " + one + ", and " + other,
          "set it for all of them with --" + std::string(row.name) + ", or take one after the other"};
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
    if (!same) return disagree(row, where_set(chosen, keys.front().key), where_set(theirs, other.key));
  }
  if (chosen == nullptr) return {};
  Setting copy = *chosen;
  copy.section = kChosenForKeys;
  config.add(std::move(copy));
  return {};
}

constexpr std::string_view kPrefix = "DLOCK_";
constexpr std::string_view kStoreVariable = "DLOCK_BACKEND";  ///< empty it would mean this machine alone

/// Besides the variables of options: the password, and what dlock sets for CMD.
constexpr std::string_view kKnown[] = {"DLOCK_PASSWORD", "DLOCK_KEY",      "DLOCK_KEYS", "DLOCK_TOKEN", "DLOCK_OWNER",
                                       "DLOCK_STORE",    "DLOCK_DEADLINE", "DLOCK_HELD", "DLOCK_SLOT"};

bool is_known(std::string_view name) {
  if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) return true;
  const auto rows = option_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.variable == name; });
}

/// "DLOCK_KILL_AFTER" -> "kill-after"
std::string option_name(std::string_view variable) {
  std::string name(variable.substr(kPrefix.size()));
  for (char& c : name) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  // Made on the first file that exists, never on a start without one.
  static const auto keys = [] {
    std::vector<ConfigKey> all;
    for (const OptionRow& row : option_rows()) {
      if (row.config == 0) continue;
      const bool at_the_top = config_section(row).empty();
      all.push_back({row.name, shape_of(row), (row.config & kInBackend) != 0, (row.config & kInKey) != 0,
                     (row.config & kInDefaults) != 0 && !at_the_top});
    }
    return all;
  }();
  return keys;
}

std::string_view config_section(const OptionRow& row) {
  return row.id == OptionId::kBackend ? std::string_view() : "defaults";
}

std::string_view config_key(const OptionRow& row) {
  return row.id == OptionId::kBackend ? "default-backend" : row.name;
}

bool finds_all_mistakes(const Arguments& arguments) {
  return arguments.command == Command::kConfig && !arguments.words.empty() && arguments.words.front() == "check";
}

bool goes_on_with_mistakes(const Arguments& arguments) {
  return (command_row(arguments.command).traits & kLooksOrFrees) != 0 && !finds_all_mistakes(arguments);
}

Result<Config> merge_settings(const Arguments& arguments, const Environment& environment) {
  Config config;
  add_flags(config, arguments);
  // `config` shows what every command would see.
  add_environment(config, environment, arguments.command == Command::kConfig ? Command::kRun : arguments.command);
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

std::vector<std::string_view> lock_keys(const Arguments& arguments) {
  const auto& words = arguments.words;
  const Operands shape = command_row(arguments.command).shape;
  if (shape == Operands::kKeysAndCommand || shape == Operands::kAnyKeys) return words;
  const bool one = shape == Operands::kOneKey || shape == Operands::kKeyAndToken || shape == Operands::kConfig;
  const std::size_t at = shape == Operands::kConfig ? 1 : 0;  // behind "show"
  if (!one || words.size() <= at) return {};                  // the RESOURCE of a fence is no lock
  return {words[at]};
}

Result<void> choose_key_settings(Config& config, const std::vector<std::string_view>& keys, Command command) {
  if (keys.empty() || config.key_sections().empty()) return {};
  std::vector<KeySections> all;
  for (const std::string_view key : keys) all.push_back({key, config.key_sections_for(key)});
  for (const OptionRow& row : option_rows()) {
    const bool counts = (row.config & kInKey) != 0 && (has_option(command, row) || command == Command::kConfig);
    if (!counts || is_decided(config, row)) continue;
    TRY(choose(config, all, row));
  }
  return {};
}

std::string_view Environment::get(std::string_view name) const {
  for (const auto& [key, value] : ours) {
    if (key == name) return value;
  }
  return {};
}

std::optional<std::string> Environment::find(std::string_view name) const {
  for (char** entry = all; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      return std::string(text.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

Environment read_environment(char** environment) {
  Environment out;
  out.all = environment;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (equals + 1 == entry.size() && name != kStoreVariable) continue;
    const std::string_view value = entry.substr(equals + 1);
    if (name.starts_with(kPrefix)) out.ours.emplace_back(name, value);
    else if (name == "HOME") out.home = value;
    else if (name == "XDG_CONFIG_HOME") out.config_home = value.starts_with('/') ? value : std::string_view();
    else if (name == "CREDENTIALS_DIRECTORY") out.credentials = value;
    else if (name == "TERM") out.term = value;
    else if (name == "NO_COLOR") out.no_colour = true;
    else if (name == "CLICOLOR_FORCE") out.force_colour = value != "0";
  }
  return out;
}

std::vector<std::string> odd_variables(const Environment& environment) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment.ours) {
    if (is_known(name)) continue;
    const OptionRow* option = find_option(option_name(name));
    if (option != nullptr && option->config != 0) {
      warnings.push_back("$" + std::string(name) + " is not read: use --" + std::string(option->name) + ", or " +
                         std::string(config_key(*option)) + " in the configuration");
      continue;
    }
    Nearest nearest(name.substr(kPrefix.size()));
    for (const OptionRow& row : option_rows()) {
      if (!row.variable.empty()) nearest.offer(row.variable.substr(kPrefix.size()));
    }
    nearest.offer("PASSWORD");
    if (nearest.best().empty()) continue;
    warnings.push_back("$" + std::string(name) + " is not read; did you mean $" + std::string(kPrefix) +
                       std::string(nearest.best()) + "?");
  }
  return warnings;
}

}  // namespace dlock
