// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/environment.h"

#include <algorithm>

#include "cmd/options/option_table.h"
#include "cmd/options/settings.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

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
    else if (name == kVerifyMark) out.reads_no_files = true;
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
