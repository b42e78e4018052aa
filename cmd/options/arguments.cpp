// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/arguments.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cmd/options/usage_error.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

bool looks_like_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// Options of flock(1) that cannot mean the same here.
std::optional<Error> foreign_option(std::string_view name) {
  if (name == "F" || name == "no-fork") {
    return usage_error("-F (--no-fork) cannot be: dlock has to stay beside CMD to renew the lock and to give it back",
                       "leave it out; dlock passes on signals and the exit status, so CMD looks the same from outside");
  }
  if (name == "u" || name == "unlock") {
    return usage_error("-u (--unlock) cannot be: a lock belongs to the dlock that took it, and ends with it",
                       "give back what 'dlock acquire' took with: dlock release KEY --owner OWNER");
  }
  return std::nullopt;
}

/// Takes the words of one command line from the front.
class Splitter {
 public:
  Splitter(int argc, char** argv) : end_(argv + argc), at_(argc > 0 ? argv + 1 : argv), begin_(at_) {}

  Result<Arguments> split() {
    if (auto read = read_command(); !read) return read.error();
    if (done_) return std::move(out_);
    const Operands shape = command_row(out_.command).shape;
    const bool stops = shape == Operands::kKeysAndCommand || shape == Operands::kFence;
    auto read = stops                       ? read_with_child(shape == Operands::kFence ? 2 : 1)
                : shape == Operands::kStock ? read_stock()
                                            : read_plain();
    if (!read) return read.error();
    return std::move(out_);
  }

 private:
  std::string_view front() const { return *at_; }

  /// The options before the command, and the command.
  Result<void> read_command() {
    while (at_ != end_ && looks_like_option(front()) && front() != "--") {
      if (auto read = read_option(nullptr, end_); !read) return read;
      if (done_) return {};
    }
    if (at_ == end_) {
      return usage_error("no command given",
                         "usage: dlock run [OPTION...] KEY... -- CMD [ARG...]\n  all commands: dlock help");
    }
    command_ = find_command(front());
    if (command_ == nullptr) {
      if (front() == "--") return usage_error("no command given before --", "write: dlock run KEY -- CMD [ARG...]");
      return usage_error("unknown command " + quoted(front()),
                         did_you_mean(nearest_command(front()),
                                      "to run something under a lock: dlock run KEY -- CMD; all "
                                      "commands: dlock help"));
    }
    out_.command = command_->command;
    begin_ = ++at_;
    return {};
  }

  /// run and fence: options, `least` operands, then CMD.
  Result<void> read_with_child(std::size_t least) {
    char** split = find_split(at_);
    if (auto read = read_options(split); !read || done_) return read;
    if (split == end_) return read_unsplit(least);
    if (at_ == split) {  // a "--" that only ends the options, so that keys may begin with -
      ++at_;
      split = find_split(at_);
      return split == end_ ? take_operands(least, nullptr) : take_operands(split - at_, split + 1);
    }
    for (char** word = at_; word != split; ++word) {
      if (word != at_ && is_shell_command(word - 1, split)) return read_shell_command(word, split);
      if (word != at_ && looks_like_option(*word)) return option_behind_key(*word);
    }
    return take_operands(split - at_, split + 1);
  }

  /// No "--" at all: exactly `least` operands, and what follows is CMD, or -c STR.
  Result<void> read_unsplit(std::size_t least) {
    if (is_shell_command(at_, end_)) return read_shell_command(at_ + 1, end_);
    for (std::size_t i = 1; i <= least && i < static_cast<std::size_t>(end_ - at_); ++i) {
      if (looks_like_option(at_[i])) return option_behind_key(at_[i]);
    }
    return take_operands(least, nullptr);
  }

  /// `count` operands (or what there is), then CMD from `child` on; nullptr: right behind the operands.
  Result<void> take_operands(std::size_t count, char** child) {
    for (; count > 0 && at_ != end_; --count) out_.words.emplace_back(*at_++);
    out_.child.assign(child == nullptr ? at_ : child, end_);
    return {};
  }

  /// Does "-c STR" stand right behind the first key, `key`?
  bool is_shell_command(char** key, char** stop) const {
    if (key != at_ || stop - key < 2 || out_.command != Command::kRun) return false;
    const std::string_view next = key[1];
    return next.starts_with("-c") || next == "--command" || next.starts_with("--command=");
  }

  Result<void> read_shell_command(char** option, char** stop) {
    out_.words.emplace_back(*at_);
    at_ = option;
    if (auto read = read_option(command_, stop); !read) return read;
    if (at_ != stop) {
      return usage_error(quoted(front()) + " stands behind -c STR, which takes one argument",
                         "quote the whole shell command: -c 'a && b'");
    }
    if (stop != end_) out_.child.assign(stop + 1, end_);
    return {};
  }

  Error option_behind_key(std::string_view word) const {
    const std::string name(command_->name);
    if (word.starts_with("-c") || find_long_or_short(word) == nullptr) {
      return usage_error("option " + quoted(word) + " stands behind a key, where options have stopped",
                         "put -- between the keys and the command: dlock " + name + " KEY -- CMD " + std::string(word));
    }
    return usage_error("option " + quoted(word) + " stands behind a key, where options have stopped",
                       "write it before the key: dlock " + name + " " + std::string(word) + " ... KEY -- CMD");
  }

  const OptionRow* find_long_or_short(std::string_view word) const {
    if (!word.starts_with("--")) return find_option(word[1]);
    return find_option(word.substr(2, word.find('=') - 2));
  }

  /// The other commands: options and operands in any order, only operands behind "--".
  Result<void> read_plain() {
    char** const split = find_split(at_);
    while (at_ != split) {
      if (auto read = read_options(split); !read || done_) return read;
      if (at_ != split) out_.words.emplace_back(*at_++);
    }
    if (split != end_) {
      for (at_ = split + 1; at_ != end_; ++at_) out_.words.emplace_back(*at_);
    }
    return {};
  }

  /// stock: options and operands in any order; behind "--" stands a command, if the action is to run one.
  Result<void> read_stock() {
    if (auto read = read_plain(); !read || done_) return read;
    char** const split = find_split(begin_);
    if (split == end_ || out_.words.empty() || out_.words.front() != "run") return {};
    out_.words.resize(out_.words.size() - static_cast<std::size_t>(end_ - split - 1));
    out_.child.assign(split + 1, end_);
    return {};
  }

  char** find_split(char** from) const {
    return std::find_if(from, end_, [](const char* word) { return std::string_view(word) == "--"; });
  }

  /// All options up to the first operand or `stop`.
  Result<void> read_options(char** stop) {
    while (at_ != stop && looks_like_option(front())) {
      if (auto read = read_option(command_, stop); !read || done_) return read;
    }
    return {};
  }

  /// One word of options: --name, --name=value, -x, -xyz, and the value's word. `command` is null before the command.
  Result<void> read_option(const CommandRow* command, char** stop) {
    const std::string_view word = *at_++;
    return word.starts_with("--") ? read_long(word, command, stop) : read_letters(word, command, stop);
  }

  Result<void> read_long(std::string_view word, const CommandRow* command, char** stop) {
    const std::size_t equals = word.find('=');
    const std::string_view spelled = word.substr(0, equals);
    const OptionRow* row = find_option(spelled.substr(2));
    if (row == nullptr) return unknown(spelled, spelled.substr(2), command);
    if (auto fits = check_place(*row, spelled, command); !fits) return fits;
    if (row->kind == ValueKind::kFlag) {
      if (equals != std::string_view::npos) {
        return usage_error("option " + std::string(spelled) + " takes no value",
                           "leave '" + std::string(word.substr(equals)) + "' out");
      }
      return note(*row, {}, spelled);
    }
    if (equals != std::string_view::npos) return note(*row, word.substr(equals + 1), spelled);
    return read_value(*row, spelled, stop);
  }

  Result<void> read_letters(std::string_view word, const CommandRow* command, char** stop) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const OptionRow* row = find_option(word[i]);
      const std::string spelled = {'-', word[i]};
      if (row == nullptr) return unknown(spelled, word.substr(i, 1), command);
      if (auto fits = check_place(*row, spelled, command); !fits) return fits;
      if (row->kind != ValueKind::kFlag) {
        const std::string_view rest = word.substr(i + 1);
        return rest.empty() ? read_value(*row, spelled, stop) : note(*row, rest, spelled);
      }
      if (auto noted = note(*row, {}, spelled); !noted || done_) return noted;
    }
    return {};
  }

  Result<void> read_value(const OptionRow& row, std::string_view spelled, char** stop) {
    if (at_ == stop) {
      const std::string name(spelled);
      return usage_error("option " + name + " needs a value", "write: " + name + " " + std::string(row.value));
    }
    return note(row, *at_++, spelled);
  }

  Result<void> note(const OptionRow& row, std::string_view value, std::string_view spelled) {
    if (row.id == OptionId::kHelp || row.id == OptionId::kVersion) {
      const bool help = row.id == OptionId::kHelp;
      out_ = Arguments();
      if (help && command_ != nullptr) out_.words.push_back(command_->name);
      out_.command = help ? Command::kHelp : Command::kVersion;
      done_ = true;
      return {};
    }
    out_.options.push_back({&row, value, std::string(spelled)});
    return {};
  }

  Result<void> check_place(const OptionRow& row, std::string_view spelled, const CommandRow* command) const {
    if (command == nullptr) {
      if (row.anywhere) return {};
      return usage_error("option " + std::string(spelled) + " stands before the command",
                         "write it behind: dlock COMMAND " + std::string(spelled) + " ...");
    }
    if (has_option(command->command, row)) return {};
    return usage_error(
        "'dlock " + std::string(command->name) + "' has no option " + std::string(spelled),
        "it belongs to " + command_list(row.commands) + "; see: dlock help " + std::string(command->name));
  }

  Error unknown(std::string_view spelled, std::string_view name, const CommandRow* command) const {
    if (auto error = foreign_option(name)) return std::move(*error);
    const std::string help = command == nullptr ? "dlock help" : "dlock help " + std::string(command->name);
    // A letter is near to every other letter: only names get a suggestion.
    const std::string_view best = name.size() < 2
                                      ? std::string_view()
                                      : nearest_option(name, command == nullptr ? Command::kRun : command->command);
    return usage_error("unknown option " + quoted(spelled),
                       best.empty() ? "all options: " + help : did_you_mean("--" + std::string(best)));
  }

  char** const end_;
  char** at_;
  char** begin_;  ///< behind the command, once it is known
  const CommandRow* command_ = nullptr;
  Arguments out_;
  bool done_ = false;  ///< --help or --version: nothing else counts
};

}  // namespace

const GivenOption* Arguments::find(OptionId id) const {
  const auto found =
      std::find_if(options.rbegin(), options.rend(), [id](const GivenOption& one) { return one.row->id == id; });
  return found == options.rend() ? nullptr : &*found;
}

Result<Arguments> split_arguments(int argc, char** argv) { return Splitter(argc, argv).split(); }

}  // namespace dlock
