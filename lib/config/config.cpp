// SPDX-License-Identifier: Apache-2.0
#include "lib/config/config.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

constexpr std::string_view kBegin = "${";
constexpr std::string_view kOtherwise = ":-";
constexpr std::size_t kLongestShown = 64;

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') && std::all_of(text.begin(), text.end(), fits);
}

Error misconfigured(std::string message, std::string next) {
  return {ErrorCode::kMisconfigured, std::move(message), std::move(next)};
}

/// Value of "NAME" or "NAME:-OTHERWISE".
Result<std::string> value_of(std::string_view inside, const VariableLookup& variables) {
  const std::size_t end = inside.find(kOtherwise);
  const std::string_view name = inside.substr(0, end);
  if (!is_name(name)) {
    return misconfigured("'" + std::string(utf8_prefix(name, kLongestShown)) + "' is not the name of a variable",
                         "write ${NAME}, ${NAME:-otherwise}, or $${ where a variable is not meant");
  }
  auto value = variables(name);
  if (end != std::string_view::npos && (!value || value->empty())) {
    return std::string(inside.substr(end + kOtherwise.size()));
  }
  if (value) return std::move(*value);
  const std::string shown(utf8_prefix(name, kLongestShown));
  return misconfigured("the variable " + shown + " is not set", "set it, or write ${" + shown + ":-otherwise}");
}

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::string_view kBackendSection = "backend.";
constexpr std::string_view kKeySection = "key.";

/// As after su or setpriv, which change the user and leave the environment.
bool is_in_foreign_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  struct stat about;
  if (home == nullptr || !path.starts_with(std::string(home) + "/") || stat(home, &about) != 0) return false;
  return about.st_uid != geteuid();
}

Error unreadable(const std::string& path, int errnum) {
  Error error{errnum == EACCES ? ErrorCode::kDenied : ErrorCode::kMisconfigured,
              "cannot read the configuration " + path + ": " + errno_text(errnum)};
  struct stat about;
  if (errnum == EACCES && stat(path.c_str(), &about) == 0) {
    error.message += " (mode " + permissions_text(about.st_mode) + ", owner " + std::to_string(about.st_uid) +
                     ", this is user " + std::to_string(geteuid()) + ")";
  }
  if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM)
    return system_error("cannot read the configuration " + path, errnum);
  if (errnum == ENOENT) error.next = "check the name given with --config or in $DLOCK_CONFIG";
  else if (errnum != EACCES) error.next = "name a file, or leave it out";
  else if (is_in_foreign_home(path)) error.next = "HOME is another user's: unset it, or log in with su -l or sudo -H";
  else error.next = "let this user read it, or name another file: --config FILE";
  return error;
}

bool is_ours(const struct stat& about) { return about.st_uid == geteuid() || about.st_uid == 0; }

/// The fault of a file that holds a password; nullopt if there is none.
std::optional<Error> no_secret(const std::string& path, const struct stat& about, const Origin& where) {
  const bool open_to_others = (about.st_mode & 077) != 0;
  if (is_ours(about) && !open_to_others) return std::nullopt;
  const std::string why =
      is_ours(about) ? "can be used by others (mode " + permissions_text(about.st_mode) + ")"
                     : "belongs to user " + std::to_string(about.st_uid) + ", not to user " + std::to_string(geteuid());
  return Error{ErrorCode::kDenied, where.text() + " holds a password, and the file " + why,
               (is_ours(about) ? "chmod 600 " : "chown it, and chmod 600 ") + shell_word(path) +
                   "; or keep the password elsewhere: password-file, or $DLOCK_PASSWORD"};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read_waiting(fd, buffer, sizeof buffer);
    if (n < 0) return unreadable(path, errno);
    if (n == 0 && text.empty() && is_never_written(fd)) {
      return Error{ErrorCode::kMisconfigured,
                   "cannot read the configuration " + path + ": it is a pipe without a writer",
                   "name a file, or start the writer before dlock"};
    }
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kLargestFile) {
      return Error{ErrorCode::kMisconfigured, "the configuration " + path + " is larger than 1 MiB",
                   "is it the right file?"};
    }
  }
}

/// The names of the files in `folder` that are configuration, in order; empty if there is no such folder.
Result<std::vector<std::string>> toml_files(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr && errno != ENOENT && errno != ENOTDIR) return unreadable(folder, errno);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with('.') && name.ends_with(".toml")) names.emplace_back(name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

/// How many characters of a pattern stand for themselves.
std::size_t literal_characters(std::string_view pattern) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '*' || c == '?') continue;
    if (c == '\\') ++at;
    if (c == '[') at = std::min(pattern.find(']', at), pattern.size());
    else ++count;
  }
  return count;
}

}  // namespace

Result<std::string> expand_variables(std::string_view text, const VariableLookup& variables) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find(kBegin);
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin + kBegin.size());
    if (out.ends_with('$')) {
      out += '{';
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) {
      return misconfigured("a ${ has no }", "write ${NAME}, or $${ where a variable is not meant");
    }
    auto value = value_of(text.substr(0, end), variables);
    if (!value) return value;
    out += *value;
    text.remove_prefix(end + 1);
  }
}

std::string Origin::text() const {
  if (layer == Layer::kDefault) return "default";
  return layer == Layer::kEnvironment ? "$" + where : where;
}

std::string Origin::position() const {
  return layer == Layer::kFile && column > 0 ? where + ":" + std::to_string(column) : text();
}

bool Config::add(Setting setting) {
  if (find(setting.section, setting.key) != nullptr) return false;
  settings_.push_back(std::move(setting));
  return true;
}

void Config::add_file(const std::string& path, Trust trust, const ConfigRules& rules) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about {};
  if (!file.valid() || fstat(file.get(), &about) != 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    if (!absent || trust == Trust::kChosen) not_read(unreadable(path, errno));
    return;
  }
  if (trust == Trust::kFound && !is_ours(about)) {
    notes_.push_back({ErrorCode::kDenied,
                      "the configuration " + path + " is ignored: it belongs to user " + std::to_string(about.st_uid) +
                          ", this is user " + std::to_string(geteuid()),
                      "to use it anyway: --config " + path});
    return;
  }
  const auto text = read_all(file.get(), path);
  if (!text) return not_read(text.error());
  ParsedConfig parsed = parse_config(*text, path, rules);
  mistakes_.insert(mistakes_.end(), parsed.mistakes.begin(), parsed.mistakes.end());
  hides_backend_ = hides_backend_ || parsed.hides_backend;
  files_.push_back(path);
  if (parsed.secret) {
    if (auto fault = no_secret(path, about, *parsed.secret)) faults_.push_back(std::move(*fault));
  }
  for (Setting& setting : parsed.settings) add(std::move(setting));
}

void Config::add_folder(const std::string& folder, Trust trust, const ConfigRules& rules) {
  // Where nothing is configured this is the only call: without the folder there is nothing to look for in it.
  const UniqueFd there(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (there.valid()) return add_folder_of_files(folder, trust, rules);
  if (errno != ENOENT && errno != ENOTDIR) not_read(unreadable(folder, errno));
}

void Config::not_read(Error why) {
  mistakes_.push_back(std::move(why));
  hides_backend_ = true;
}

void Config::add_folder_of_files(const std::string& folder, Trust trust, const ConfigRules& rules) {
  auto names = toml_files(folder + "/conf.d");
  if (!names) not_read(names.error());
  else
    for (auto name = names->rbegin(); name != names->rend(); ++name)
      add_file(folder + "/conf.d/" + *name, trust, rules);
  add_file(folder + "/config.toml", trust, rules);
}

const Setting* Config::find(std::string_view section, std::string_view key) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& setting) {
    return setting.key == key && setting.section == section;
  });
  return found == settings_.end() ? nullptr : &*found;
}

std::vector<std::string> Config::sections_of(std::string_view kind) const {
  std::vector<std::string> names;
  for (const Setting& setting : settings_) {
    if (!setting.section.starts_with(kind)) continue;
    std::string name = setting.section.substr(kind.size());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> Config::backend_names() const { return sections_of(kBackendSection); }

std::vector<std::string> Config::key_sections() const {
  std::vector<std::string> sections = sections_of(kKeySection);
  for (std::string& section : sections) section.insert(0, kKeySection);
  return sections;
}

std::vector<std::string> Config::key_sections_for(std::string_view key) const {
  struct Match {
    std::size_t weight;
    std::string pattern;
  };
  const std::string name(key);
  std::vector<Match> matches;
  for (std::string& pattern : sections_of(kKeySection)) {
    if (pattern == name) matches.push_back({std::string::npos, std::move(pattern)});
    else if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) {
      const std::size_t weight = literal_characters(pattern);
      matches.push_back({weight, std::move(pattern)});
    }
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.pattern < b.pattern;
  });
  std::vector<std::string> sections;
  for (const Match& match : matches) sections.push_back(std::string(kKeySection) + match.pattern);
  return sections;
}

}  // namespace dlock
