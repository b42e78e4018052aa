// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cmd/options/command_table.h"
#include "lib/base/human_text.h"
#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock {
namespace {

/// realpath(3); empty if something of it does not exist or is out of reach.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : std::string();
}

/// The one name of the file that a key beginning with "/", "./" or "../" means, however it was spelled: without
/// symbolic links, "." and "..". A file that does not exist has its directory's one name and its own. Unchanged if the
/// directory is not there or out of reach, where nothing can be locked. Invalid if the file's one name is no key (too
/// long, not UTF-8). Asks the file system. REQUIRES: name.is_path() or name.is_relative_path().
Result<LockName> canonical_path_key(const LockName& name) {
  const std::string here = name.is_path() ? std::string() : real_path(".") + "/";
  const std::string path = here + name.text();
  std::string real = real_path(path);
  if (real.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = real_path(path.substr(0, slash + 1));
    if (folder.empty() || slash + 1 == path.size()) return LockName::parse(path);
    real = folder + (folder.ends_with('/') ? "" : "/") + path.substr(slash + 1);
  }
  auto canonical = LockName::parse(real);
  if (canonical) return canonical;
  Error error = canonical.error();
  error.message = "the file that " + path + " leads to cannot be a key: " + error.message;
  return error;
}

class Placer {
 public:
  Placer(const Arguments& arguments, Options& options)
      : row_(command_row(arguments.command)), arguments_(arguments), options_(options) {}

  Result<void> place() {
    if (auto placed = place_words(); !placed) return placed;
    if (auto placed = place_child(); !placed) return placed;
    return check_needs();
  }

 private:
  Error usage(std::string message, std::string next = {}) const {
    const std::string operands = row_.operands.empty() ? "" : " " + std::string(row_.operands);
    if (next.empty()) next = "usage: dlock " + std::string(row_.name) + " [OPTION...]" + operands;
    return {ErrorCode::kInvalid, std::move(message), std::move(next)};
  }

  Result<void> place_words() {
    const auto& words = arguments_.words;
    switch (row_.shape) {
      case Operands::kKeysAndCommand:
        if (words.empty()) return usage("no KEY given");
        return add_keys(words.size());
      case Operands::kOneKey:
        return count_is(1) ? add_keys(1) : wrong_count("KEY");
      case Operands::kAnyKeys:
        return add_keys(words.size());
      case Operands::kFence:
        return count_is(2) ? add_key_and_token() : wrong_count("RESOURCE and a TOKEN");
      case Operands::kKeyAndToken:
        return count_is(2) ? add_key_and_token() : wrong_count("KEY and a TOKEN");
      case Operands::kOneWord:
        return count_is(1) ? add_known_word() : wrong_count(row_.operands);
      case Operands::kConfig:
        return place_config_words();
      case Operands::kMaybeCommand:
        return add_words();  // help_text()
      case Operands::kMaybeWord:
        return words.empty() ? Result<void>() : count_is(1) ? add_known_word() : wrong_count(row_.operands);
      case Operands::kStock:
        return {};  // place_stock_operands()
      case Operands::kNone:
        if (words.empty()) return {};
        return usage("'dlock " + std::string(row_.name) + "' takes no '" + std::string(words.front()) + "'");
    }
    return {};
  }

  Result<void> place_config_words() {
    const auto& words = arguments_.words;
    if (words.empty()) return usage("'dlock config' needs show or check");
    if (words.front() == "show" && options_.strict) {
      return usage("--strict means nothing with 'dlock config show', which checks nothing",
                   "leave it out, or write: dlock config check --strict");
    }
    if (words.size() == 1) return add_known_word();
    if (words.front() == "show") return words.size() == 2 ? add_show_and_key() : wrong_count("KEY after show");
    return words.front() == "check"
               ? usage("'dlock config check' checks everything that is configured, and takes no KEY")
               : add_known_word();
  }

  Result<void> add_show_and_key() {
    TRY(LockName::parse(arguments_.words[1]));
    return add_words();
  }

  bool count_is(std::size_t count) const { return arguments_.words.size() == count; }

  Error wrong_count(std::string_view wanted) const {
    const std::string name(row_.name);
    if (row_.command == Command::kAcquire && !count_is(0)) {
      return usage("'dlock acquire' takes a lock and runs nothing: one KEY",
                   "to run something under the lock: dlock run " + shell_word(arguments_.words.front()) + " -- CMD");
    }
    const bool runs_nothing = row_.command == Command::kHold || row_.command == Command::kWait;
    if (runs_nothing && arguments_.words.size() > 1)
      return usage("'dlock " + name + "' runs nothing: one KEY",
                   "to run something under the lock: dlock run " + shell_word(arguments_.words.front()) + " -- CMD");
    if (arguments_.words.empty()) return usage("'dlock " + name + "' needs a " + std::string(wanted));
    const bool has_token = row_.shape == Operands::kFence || row_.shape == Operands::kKeyAndToken;
    if (has_token && count_is(1)) return usage("the TOKEN is missing after " + in_quotes(arguments_.words.front()));
    return usage("'dlock " + name + "' takes one " + std::string(wanted) + ", these are " +
                 std::to_string(arguments_.words.size()) + " words");
  }

  Result<void> add_keys(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto name = LockName::parse(arguments_.words[i]);
      if (!name) return name.error();
      const bool file = name->is_relative_path() && row_.shape != Operands::kFence;
      if (file && !is_local()) return file_on_a_server(*name);
      if (means_file(*name)) name = canonical_path_key(*name);
      if (!name) return name.error();
      note_of_file(*name);
      options_.keys.push_back(std::move(*name));
    }
    std::sort(options_.keys.begin(), options_.keys.end());
    options_.keys.erase(std::unique(options_.keys.begin(), options_.keys.end()), options_.keys.end());
    return {};
  }

  /// Two spellings of one file are one key. What a server or a fence calls "/x" is no file.
  bool means_file(const LockName& name) const {
    const bool pattern = takes_patterns() && is_pattern(name);
    return is_local() && (name.is_path() || name.is_relative_path()) && row_.shape != Operands::kFence && !pattern;
  }

  bool is_local() const { return !options_.backends.empty() && options_.backends.front().is_local(); }

  Error file_on_a_server(const LockName& name) const {
    return {ErrorCode::kUnsupported, name.text() + " is a file of this machine, which is not a key on a server",
            "leave the " + name.text().substr(0, name.text().find('/') + 1) + " out, or lock the file: -b local:"};
  }

  /// Of whom flock(1) is a habit, it may be meant.
  void note_of_file(const LockName& name) const {
    const std::string& text = name.text();
    const bool like_one = !name.is_path() && (text.ends_with(".lock") || text.ends_with(".pid"));
    const bool taken = row_.command == Command::kRun || row_.command == Command::kHold ||
                       row_.command == Command::kAcquire || row_.command == Command::kWait;
    if (!like_one || !taken || !is_local() || access(text.c_str(), F_OK) != 0) return;
    options_.warnings.push_back("the key " + text +
                                " is a name, and not the file of that name here: to lock the file, write ./" + text);
  }

  bool takes_patterns() const {
    return row_.command == Command::kInspect || row_.command == Command::kForceRelease ||
           row_.command == Command::kHistory;
  }

  Result<void> add_key_and_token() {
    if (auto added = add_keys(1); !added) return added;
    TRY_ASSIGN(auto token, FencingToken::parse(arguments_.words[1]));
    options_.token = token;
    return {};
  }

  Result<void> add_known_word() {
    const std::string_view word = arguments_.words.front();
    bool known = false;
    std::string all;
    for_each_word(row_.words, [&](std::string_view one) {
      known = known || one == word;
      all.append(all.empty() ? "it has " : ", ").append(one);
    });
    if (known) return add_words();
    return usage("'dlock " + std::string(row_.name) + "' has no " + in_quotes(word), all);
  }

  Result<void> add_words() {
    options_.words.assign(arguments_.words.begin(), arguments_.words.end());
    return {};
  }

  Result<void> place_child() {
    const auto& child = arguments_.child;
    if (row_.command == Command::kRun) {
      if (options_.shell_command && !child.empty()) {
        return usage("both -c STR and a command: " + in_quotes(child.front()),
                     "with several keys write: dlock run -c STR KEY1 KEY2 --");
      }
      const bool none = !options_.shell_command && child.empty();
      if (none && count_is(1) && is_descriptor(arguments_.words.front())) {
        return usage("no command to run under the lock", std::string(kRestOfScript));
      }
      if (none) {
        return usage("no command to run under the lock", "write: dlock run " + shell_word(arguments_.words.front()) +
                                                             " -- CMD [ARG...]; to hold it without one: dlock hold");
      }
    }
    if (child.empty() || row_.command == Command::kStock) return {};
    if (row_.command == Command::kFence && options_.json) {
      return usage("--json means nothing with a CMD, which owns the output",
                   "leave it out; the exit status is 79 if the token is too low");
    }
    options_.child = child;
    options_.separated = arguments_.separated;
    options_.child.push_back(nullptr);
    return {};
  }

  /// A lock that a command holds has no owner to be typed.
  std::string for_others_lock() const {
    if (row_.command != Command::kRelease || options_.keys.empty()) return {};
    return "; another's lock: dlock force-release " + options_.keys.front().typed();
  }

  Result<void> check_needs() const {
    const bool lease = row_.command == Command::kRenew || row_.command == Command::kRelease;
    if (lease && !options_.owner && arguments_.find(OptionId::kSlot) == nullptr) {
      return usage("--owner is missing: whose lease is it?",
                   "it is the first word that 'dlock acquire' printed: --owner OWNER" + for_others_lock());
    }
    if (row_.command == Command::kAcquire && !options_.ttl_given && !options_.watch_pid) {
      return usage("--ttl is missing: this lease is not renewed, so choose how long it lasts",
                   "add --ttl 10m, or --watch-pid PID to keep it until that process ends");
    }
    return {};
  }

  const CommandRow& row_;
  const Arguments& arguments_;
  Options& options_;
};

}  // namespace

bool is_pattern(const LockName& key) { return key.text().find_first_of("*?[") != std::string::npos; }

Result<void> place_operands(const Arguments& arguments, Options& options) { return Placer(arguments, options).place(); }

}  // namespace dlock
