// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/arguments.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>

#include "cmd/options/command_table.h"
#include "cmd/options/completion.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

/// Takes the words of one command line from the front: which are for CLI11, which are keys, which are CMD.
class Splitter {
 public:
  Splitter(int argc, char** argv) : end_(argv + argc), at_(argc > 0 ? argv + 1 : argv), start_(at_), begin_(at_) {}

  Result<Arguments> split() {
    TRY(read_command());
    if (done_) return std::move(out_);
    if (out_.command == Command::kComplete) return take_unfinished();
    const Operands shape = command_row(out_.command).shape;
    const bool stops = shape == Operands::kKeysAndCommand || shape == Operands::kFence;
    TRY(stops                       ? read_with_child(shape == Operands::kFence ? 2 : 1)
        : shape == Operands::kStock ? read_stock()
                                    : read_plain());
    return std::move(out_);
  }

 private:
  std::string_view front() const { return *at_; }

  Result<void> read_command() {
    if (auto read = read_options(end_); !read || done_) {
      if (done_ && out_.command == Command::kHelp) explain_named();
      return read ? read : with_own_line(read.error());
    }
    if (at_ == end_) {
      return usage_error("no command given",
                         "usage: dlock run [OPTION...] KEY... -- CMD [ARG...]; all commands: dlock help");
    }
    command_ = find_command(front());
    if (command_ == nullptr) {
      if (front() == "--") return usage_error("no command given before --", "write: dlock run KEY -- CMD [ARG...]");
      return usage_error("unknown command " + in_quotes(front()), instead_of_command());
    }
    out_.command = command_->command;
    begin_ = ++at_;
    return {};
  }

  /// __complete: a line that is being typed is not judged; only where its names are looked for is taken from it.
  Arguments take_unfinished() {
    out_.words.assign(at_, end_);
    out_.options = complete_words(out_.words).where;
    return std::move(out_);
  }

  std::string instead_of_command() const {
    if (const std::string_view known = foreign_command(front()); !known.empty()) return std::string(known);
    if (is_descriptor(front()) && at_ + 1 == end_) return std::string(kRestOfScript);
    return did_you_mean(nearest_command(front()),
                        "to run something under a lock: " + line_with_run() + "; all commands: dlock help");
  }

  /// An option that stands before the command: the line with it behind, or with "run" where flock(1) needs no command.
  Error with_own_line(Error error) const {
    if (!error.next.empty()) return error;
    char** word = start_;
    while (word < end_ && looks_like_option(*word)) word += wants_next(*word) ? 2 : 1;
    const bool named = word < end_ && find_command(*word) != nullptr;
    if (word + 1 == end_ && is_descriptor(*word)) {
      error.next = kRestOfScript;
      return error;
    }
    const auto behind = named ? word + 1 : word;
    std::string run = "run";
    char* command[] = {named ? *word : run.data()};
    error.next = "write: " + line_of({command, {start_, word}, {behind, end_}});
    return error;
  }

  /// run and fence: options, `least` operands, then CMD.
  Result<void> read_with_child(std::size_t least) {
    char** split = find_split(at_);
    if (auto read = read_options(split); !read || done_) return read;
    if (split == end_) return read_unsplit(least);
    if (at_ == split) {  // a "--" that only ends the options, so that keys may begin with -
      ++at_;
      split = find_split(at_);
      if (split == end_ && is_command_alone(least)) return key_missing();
      return split == end_ ? take_operands(least, nullptr) : take_operands(split - at_, split + 1);
    }
    for (char** word = at_; word != split; ++word) {
      if (word != at_ && is_shell_command(word - 1, split)) return read_shell_command(word, split);
      if (word != at_ && looks_like_option(*word)) return option_behind_key(word, split);
    }
    return take_operands(split - at_, split + 1);
  }

  /// No "--" at all: exactly `least` operands, and what follows is CMD, or -c STR.
  Result<void> read_unsplit(std::size_t least) {
    if (is_shell_command(at_, end_)) return read_shell_command(at_ + 1, end_);
    for (std::size_t i = 1; i <= least && i < static_cast<std::size_t>(end_ - at_); ++i) {
      if (looks_like_option(at_[i])) return option_behind_key(at_ + i, at_ + i + 1);
    }
    return take_operands(least, nullptr);
  }

  /// `count` operands (or what there is), then CMD from `child` on; nullptr: right behind the operands.
  Result<void> take_operands(std::size_t count, char** child) {
    for (; count > 0 && at_ != end_; --count) out_.words.emplace_back(*at_++);
    out_.child.assign(child == nullptr ? at_ : child, end_);
    out_.separated = child != nullptr;
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
    const bool text_is_next = front() == "-c" || front() == "--command";
    if (auto read = read_options(std::min(stop, at_ + (text_is_next ? 2 : 1))); !read) return read;
    if (at_ != stop) {
      return usage_error(in_quotes(front()) + " comes after -c STR, which takes one argument",
                         "quote the whole shell command: -c 'a && b'");
    }
    if (stop != end_) out_.child.assign(stop + 1, end_);
    return {};
  }

  /// "run -- true": what stands behind -- is CMD, and nothing is left of it to be run.
  bool is_command_alone(std::size_t least) const {
    const bool shell = out_.find(OptionId::kCommandText) != nullptr;
    const bool one = static_cast<std::size_t>(end_ - at_) == least;
    return out_.command == Command::kRun && !shell && one && !looks_like_option(front());
  }

  Error key_missing() const {
    const std::string command = " -- " + shell_word(utf8_prefix(front(), 80));
    const GivenOption* last = out_.options.empty() ? nullptr : &out_.options.back();
    if (last == nullptr || !is_word_taken(*last->row, last->value))
      return usage_error("no KEY given before --", "write: dlock run KEY" + command);
    return usage_error("no KEY given before --: " + last->spelled + " took " + in_quotes(last->value) + " as its value",
                       "write: dlock run " + last->spelled + " " + std::string(last->row->value.name) + " " +
                           shell_word(utf8_prefix(last->value, 80)) + command);
  }

  /// `option` and those up to `stop` stand behind the first key, at_.
  Error option_behind_key(char** option, char** stop) const {
    const std::string_view word(*option);
    if (out_.command == Command::kFence && option == at_ + 1 && find_long_or_short(word) == nullptr) {
      return usage_error(in_quotes(word) + " is not a fencing token",
                         "usage: dlock fence [OPTION...] RESOURCE TOKEN [-- CMD [ARG...]]");
    }
    const std::string message = "option " + in_quotes(word) + " comes after a key, where options have ended";
    if (word.starts_with("-c") || find_long_or_short(word) == nullptr) {
      return usage_error(message, "put -- between the keys and the command: dlock " + std::string(command_->name) +
                                      " KEY -- CMD " + std::string(word));
    }
    return usage_error(message, "write it before the key: " + corrected_line(option, stop));
  }

  /// The user's own line, with the options from `option` to `stop` in front of the first key.
  std::string corrected_line(char** option, char** stop) const {
    std::vector<char*> moved;
    std::vector<char*> keys(at_, option);
    char** word = option;
    while (word != stop) {
      const bool is_option = looks_like_option(*word) && find_long_or_short(*word) != nullptr;
      (is_option ? moved : keys).push_back(*word);
      const bool has_next = is_option && wants_next(*word);
      ++word;
      if (has_next && word != end_) moved.push_back(*word++);
      if (word > stop) break;  // without "--" the value stands behind `stop`
    }
    return line_of({{start_, at_}, moved, keys, {word, end_}});
  }

  /// Who left out "run" reads the own line with it; without "--" nobody knows what CMD is.
  std::string line_with_run() const {
    if (find_split(at_) == end_) return "dlock run KEY -- CMD";
    std::string run = "run";
    char* command[] = {run.data()};
    return line_of({{start_, at_}, command, {at_, end_}});
  }

  /// Is the value of the option (or of the last of these letters) the next word?
  static bool wants_next(std::string_view word) {
    if (word.starts_with("--")) {
      const OptionRow* row = find_option(word.substr(2));
      return row != nullptr && row->value.kind != ValueKind::kFlag;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const OptionRow* row = find_option(word[i]);
      if (row == nullptr) return false;
      if (row->value.kind != ValueKind::kFlag) return i + 1 == word.size();
    }
    return false;
  }

  /// "dlock" and these words, as a shell wants them.
  static std::string line_of(std::initializer_list<std::span<char* const>> parts) {
    std::string line = "dlock";
    for (const auto& part : parts) {
      for (const char* word : part) add_shown(line, word);
    }
    return line;
  }

  /// As a shell wants it; without what may be a password.
  static void add_shown(std::string& line, std::string_view word) {
    constexpr std::size_t kLongestWord = 80;
    const std::size_t url = word.find("://");
    const bool secret = url != std::string_view::npos && word.find('@', url) != std::string_view::npos;
    line += ' ';
    if (secret) line += shell_word(word.substr(0, url + 3)) + "...";
    else if (word.size() > kLongestWord) line += "...";
    else line += shell_word(word);
  }

  const OptionRow* find_long_or_short(std::string_view word) const {
    if (!word.starts_with("--")) return find_option(word[1]);
    return find_option(word.substr(2, word.find('=') - 2));
  }

  /// The other commands: options and operands in any order, only operands behind "--".
  Result<void> read_plain() {
    char** const split = find_split(at_);
    TRY_ASSIGN(auto given, read_given_options({at_, split}, OperandsMay::kStandAnywhere, command_));
    take_options(given);
    if (done_) return {};
    out_.words.assign(given.operands.begin(), given.operands.end());
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

  /// All options up to the first operand or `stop`. `command_` is null before the command.
  Result<void> read_options(char** stop) {
    TRY_ASSIGN(auto given, read_given_options({at_, stop}, OperandsMay::kEndOptions, command_));
    at_ = stop - given.rest.size();
    take_options(given);
    return {};
  }

  void take_options(GivenOptions& given) {
    if (given.asked != nullptr) return show(*given.asked);
    std::move(given.options.begin(), given.options.end(), std::back_inserter(out_.options));
  }

  /// --help or --version: nothing else counts.
  void show(const OptionRow& asked) {
    const bool help = asked.id == OptionId::kHelp;
    out_ = Arguments();
    if (!help) keep_json();
    if (help && command_ != nullptr) out_.words.push_back(command_->name);
    if (help && command_ != nullptr && command_->shape == Operands::kStock) name_action();
    out_.command = help ? Command::kHelp : Command::kVersion;
    done_ = true;
  }

  /// "dlock --help run" is the page of run.
  void explain_named() {
    const auto is_command = [](const char* word) { return find_command(word) != nullptr; };
    char** const named = std::find_if(start_, end_, is_command);
    if (named == end_) return explain_word();
    command_ = find_command(*named);
    out_.words.push_back(command_->name);
    begin_ = named + 1;
    if (command_->shape == Operands::kStock) name_action();
  }

  /// "dlock --help runn": no command, which is then said.
  void explain_word() {
    const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
    char** const help = std::find_if(start_, end_, is_help);
    if (end_ - help > 1 && !looks_like_option(help[1])) out_.words.emplace_back(help[1]);
  }

  /// "dlock --version --json", and the other way round.
  void keep_json() {
    const OptionRow& json = option_row(OptionId::kJson);
    const auto is_json = [](const char* word) { return std::string_view(word) == "--json"; };
    if (std::any_of(start_, find_split(start_), is_json)) out_.options.push_back({&json, {}, "--json"});
  }

  /// "stock take --help": the action is what has to be explained.
  void name_action() {
    for (char** word = begin_; word != end_ && std::string_view(*word) != "--"; ++word) {
      if (looks_like_option(*word)) continue;
      out_.words.emplace_back(*word);
      return;
    }
  }

  char** const end_;
  char** at_;
  char** const start_;  ///< behind the name of the program
  char** begin_;        ///< behind the command, once it is known
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
