// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/backend_choice.h"

#include <unistd.h>

#include <algorithm>

#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/config/secret.h"
#include "lib/config/suggest.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

constexpr char kUnknown[] = "unknown";

Error at(const Setting& setting, Error error) {
  error.message = setting.origin.position() + ": " + error.message;
  if (setting.origin.layer == Origin::Layer::kFile) error.code = ErrorCode::kMisconfigured;
  return error;
}

std::string files_read(const Config& config) {
  std::string text;
  for (const std::string& file : config.files()) text += (text.empty() ? "read: " : ", ") + file;
  return text.empty() ? "there is no /etc/dlock/config.toml or ~/.config/dlock/config.toml either" : text;
}

Error no_such_backend(const Config& config, const std::string& name) {
  Nearest nearest(name);
  const auto names = config.backend_names();
  std::string known;
  for (const std::string& one : names) {
    nearest.offer(one);
    known += (known.empty() ? "" : ", ") + one;
  }
  if (!nearest.best().empty()) {
    return {ErrorCode::kInvalid, "there is no backend '" + name + "' in the configuration",
            did_you_mean(nearest.best())};
  }
  // The URL parser knows which scheme was meant.
  Error error = BackendUrl::parse(name).error();
  if (error.next.starts_with("did you mean")) return error;
  error.message = "there is no [backend." + std::string(utf8_prefix(name, 64)) + "]; " + files_read(config);
  error.next = "write that section and url = \"redis://host\", or a URL: " + error.next;
  if (!names.empty()) error.next += "; or one of those configured: " + known;
  return error;
}

bool is_run_key(std::string_view key) {
  const auto keys = config_keys();
  return key.empty() || key == "url" ||
         std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.name == key; });
}

Result<BackendUrl> from_section(const Config& config, const std::string& name, const Setting& text,
                                std::vector<Error>& mistakes) {
  auto url = BackendUrl::parse(text.value());
  if (!url) return at(text, url.error());
  url->alias = name;
  const UrlScheme& scheme = *find_url_scheme(url->scheme);
  for (const Setting& setting : config.settings()) {
    if (setting.section != text.section || is_run_key(setting.key)) continue;
    auto known = check_url_param(scheme, setting.key, setting.value());
    if (!known) mistakes.push_back(at(setting, known.error()));
    else url->params.emplace(*known, setting.value());  // what the URL itself says is stronger
  }
  if (auto fit = check_url_params_together(scheme, url->params); !fit) return at(text, fit.error());
  return url;
}

}  // namespace

Result<BackendUrl> choose_backend(const Config& config, const std::string& text, std::vector<Error>& mistakes) {
  if (text.find_first_of(":/@") != std::string::npos || text.empty()) return BackendUrl::parse(text);
  const std::string section = "backend." + text;
  if (const Setting* url = config.find(section, "url")) return from_section(config, text, *url, mistakes);
  for (const Setting& setting : config.settings()) {
    if (setting.section != section) continue;
    return Error{ErrorCode::kMisconfigured, setting.origin.position() + ": [" + section + "] has no url",
                 "add url = \"redis://host\" to it"};
  }
  return no_such_backend(config, text);
}

BackendUrl unknown_backend(const std::string& name) {
  BackendUrl url;
  url.scheme = kUnknown;
  url.family = kUnknown;
  url.alias = name;
  return url;
}

bool is_unknown(const BackendUrl& url) { return url.family == kUnknown; }

std::string backend_option(const BackendUrl& url) {
  return " -b " + shell_word(url.alias.empty() ? url.redacted() : url.alias);
}

namespace {

/// Empty: none of them is named, or there.
std::string password_file(const BackendUrl& url, const Environment& environment) {
  if (const auto file = url.params.find("password-file"); file != url.params.end()) return file->second;
  if (environment.credentials.empty() || url.alias.empty()) return {};
  std::string path = std::string(environment.credentials) + "/dlock." + url.alias + ".password";
  return access(path.c_str(), F_OK) == 0 ? path : std::string();
}

}  // namespace

Result<void> add_password(BackendUrl& url, const Environment& environment, std::string_view variable, bool typed,
                          std::vector<std::string>& warnings) {
  if (url.is_local()) return {};
  if (const std::string path = password_file(url, environment); !path.empty()) {
    TRY_ASSIGN(auto password, read_password_file(path));
    const bool guarded =
        !environment.credentials.empty() && path.starts_with(std::string(environment.credentials) + "/");
    if (!password.warning.empty() && !guarded) warnings.push_back(std::move(password.warning));
    url.password = std::move(password.text);
    return {};
  }
  const bool url_wins = typed && !url.password.empty();
  if (!variable.empty() && !url_wins) url.password = variable;
  return {};
}

}  // namespace dlock
