// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "cmd/options/option_reader.h"
#include "cmd/options/options.h"
#include "cmd/options/settings.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/config/duration_text.h"

namespace dlock {
namespace {

constexpr std::string_view kKeySection = "key.";

struct Shown {
  std::string name;
  std::string value;
  std::string origin;
};

/// A URL may hold a password: only its redacted form is ever shown.
std::string shown_url(const std::string& text) {
  auto url = BackendUrl::parse(text);
  return url ? url->redacted() : std::string("(malformed)");
}

std::string shown_value(const Setting& setting, bool url) {
  std::string text;
  for (const std::string& value : setting.values) {
    const bool redact = url && value.find(':') != std::string::npos;
    text += (text.empty() ? "" : " ") + (redact ? shown_url(value) : value);
  }
  return text;
}

std::string preset_value(const OptionRow& row, const Options& options) {
  if (row.id == OptionId::kKillAfter) return spell_duration(options.kill_after);
  return std::string(row.preset);
}

std::vector<Shown> shown_settings(const Options& options) {
  std::vector<Shown> lines;
  const std::string& alias = options.backends.front().alias;
  const OptionReader reader(options.config, Command::kConfig, alias.empty() ? "" : "backend." + alias);
  for (const OptionRow& row : option_rows()) {
    if (row.config == 0) continue;
    const Setting* setting = reader.find(row);
    const std::string name(config_key(row));
    if (setting == nullptr) lines.push_back({name, preset_value(row, options), "default"});
    else lines.push_back({name, shown_value(*setting, row.value.kind == ValueKind::kBackend), setting->origin.text()});
  }
  for (const Setting& setting : options.config.settings()) {
    const bool of_key = setting.section.starts_with(kKeySection);
    if (setting.key.empty() || (!of_key && !setting.section.starts_with("backend."))) continue;
    const std::string section = of_key ? "key.\"" + setting.section.substr(kKeySection.size()) + "\"" : setting.section;
    const bool url = setting.key == "url" || setting.key == "fallback" || setting.key == "backend";
    lines.push_back({section + "." + setting.key, shown_value(setting, url), setting.origin.text()});
  }
  return lines;
}

std::string as_text(const Options& options) {
  const auto lines = shown_settings(options);
  std::size_t names = 0;
  std::size_t values = 0;
  const auto clean = [](const Shown& line) { return line.value.empty() ? std::string("-") : printable(line.value); };
  for (const Shown& line : lines) {
    names = std::max(names, line.name.size());
    values = std::max(values, std::min<std::size_t>(display_width(clean(line)), 40));
  }
  std::string out;
  for (const Shown& line : lines) {
    const std::string value = clean(line);
    const std::size_t width = display_width(value);
    out += line.name + std::string(names - line.name.size() + 2, ' ') + value;
    out += std::string(width < values ? values - width + 2 : 2, ' ') + line.origin + "\n";
  }
  for (const std::string& file : options.config.files()) out += "# read: " + file + "\n";
  return out;
}

std::string as_json(const Options& options) {
  JsonWriter json("dlock.config/1");
  json.texts("files", options.config.files()).key("settings").begin_array();
  for (const Shown& line : shown_settings(options)) {
    json.begin_object().field("name", line.name).key("value").text(line.value);
    json.field("origin", line.origin).end_object();
  }
  return json.end_array().end_object().line();
}

}  // namespace

std::string config_text(const Options& options) { return options.json ? as_json(options) : as_text(options); }

std::string config_check_text(const Options& options) {
  const std::size_t files = options.config.files().size();
  const std::size_t backends = options.config.backend_names().size();
  if (!options.json) {
    return "ok: " + std::to_string(files) + (files == 1 ? " file" : " files") + " read, " + std::to_string(backends) +
           (backends == 1 ? " backend" : " backends") + " configured\n";
  }
  JsonWriter json("dlock.config.check/1");
  const bool ok = options.mistakes.empty() && (!options.strict || options.warnings.empty());
  json.field("ok", ok).field("files", files).field("backends", backends);
  json.list("mistakes", options.mistakes, [&](const Error& mistake) {
    json.begin_object().field("what", mistake.message).field("next", mistake.next).end_object();
  });
  return json.texts("warnings", options.warnings).end_object().line();
}

}  // namespace dlock
