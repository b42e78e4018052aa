// SPDX-License-Identifier: Apache-2.0
// The only file that knows CLI11. What costs a start is what is registered, so only the spellings that occur are, each
// as an option of its own.
#include "cmd/options/given_options.h"

#include <algorithm>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#include <CLI/CLI.hpp>
#pragma GCC diagnostic pop

#include "cmd/options/command_table.h"
#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

bool is_flag(const OptionRow& row) { return row.value.kind == ValueKind::kFlag; }

/// "--ttl" of "--ttl=5".
std::string_view spelled_long(std::string_view word) { return word.substr(0, word.find('=')); }

/// Gives CLI11 each option, and each value, as a word of its own: "-nw5" as -n -w 5, "--wait=5" as --wait 5. In this
/// form it has no liberties: joined, "--wait=" would take the next word, "-n-" be "--", and "--quiet=true" be --quiet.
class GivenOptionReader {
 public:
  GivenOptionReader(OperandsMay operands, const CommandRow* command)
      : ends_(operands == OperandsMay::kEndOptions), command_(command) {}

  Result<GivenOptions> read(std::span<char* const> words) {
    auto word = words.begin();
    while (word != words.end() && !(ends_ && is_operand(*word))) {
      TRY(take(*word++));
      if (out_.asked != nullptr) return std::move(out_);
    }
    if (ends_) out_.rest = words.subspan(static_cast<std::size_t>(word - words.begin()));
    std::reverse(parts_.begin(), parts_.end());  // CLI11 takes them from the back
    try {
      parser_.parse(std::move(parts_));
    } catch (const CLI::ArgumentMismatch&) {
      return value_missing(words.back());
    }
    return std::move(out_);
  }

 private:
  bool is_operand(std::string_view word) const {
    return !wants_value_ && (!looks_like_option(word) || word == "--");  // "--": before the command
  }

  Result<void> take(char* word) {
    if (is_operand(word)) out_.operands.push_back(word);
    else if (wants_value_) add_value(word);
    else return take_apart(word);
    return {};
  }

  Result<void> take_apart(std::string_view word) {
    if (word.starts_with("--")) return take_long(word);
    if (is_long_name(word.substr(1)))
      return usage_error("option " + in_quotes(word) + " has one dash", "a long option has two: -" + std::string(word));
    return take_letters(word);
  }

  Result<void> take_long(std::string_view word) {
    const std::string_view spelled = spelled_long(word);
    const std::string_view value = word.substr(spelled.size());
    const OptionRow* row = find_option(spelled.substr(2), command_);
    TRY(check_place(row, spelled, spelled.substr(2)));
    if (!value.empty() && is_flag(*row))
      return usage_error("option " + std::string(spelled) + " takes no value",
                         "leave '" + std::string(value) + "' out");
    add(*row, std::string(spelled));
    if (!value.empty()) add_value(value.substr(1));
    return {};
  }

  Result<void> take_letters(std::string_view word) {
    for (word.remove_prefix(1); !word.empty() && out_.asked == nullptr; word.remove_prefix(1)) {
      const std::string_view letter = word.substr(0, front_character(word).bytes);
      const OptionRow* row = find_option(word.front(), command_);
      TRY(check_place(row, "-" + std::string(letter), letter));
      add(*row, {'-', word.front()});
      if (is_flag(*row)) continue;
      if (word.size() > 1) add_value(word.substr(1));
      break;
    }
    return {};
  }

  /// "timeout=15s" behind one dash, as Go's flags are written: no row of letters has a meaning that spells a name.
  bool is_long_name(std::string_view letters) const {
    constexpr std::size_t kShortestName = 3;
    const std::string_view name = letters.substr(0, letters.find('='));
    const OptionRow* row = name.size() < kShortestName ? nullptr : find_option(name, command_);
    return row != nullptr && (command_ == nullptr || has_option(command_, *row));
  }

  Result<void> check_place(const OptionRow* row, std::string_view spelled, std::string_view name) const {
    if (row == nullptr) return unknown(spelled, name);
    if (!has_option(command_, *row)) return misplaced(*row, std::string(spelled));
    return {};
  }

  void add(const OptionRow& row, const std::string& spelled) {
    if (row.id == OptionId::kHelp || row.id == OptionId::kVersion) {
      out_.asked = &row;
      return;
    }
    if (parser_.get_option_no_throw(spelled) == nullptr) register_option(row, spelled);
    parts_.push_back(spelled);
    wants_value_ = !is_flag(row);
  }

  void add_value(std::string_view value) {
    parts_.emplace_back(value);
    wants_value_ = false;
  }

  /// Called for each time that it is given, in the order given.
  void register_option(const OptionRow& row, const std::string& spelled) {
    const auto heard = [this, &row, spelled](const std::string& value) {
      out_.options.push_back({&row, value, spelled});
    };
    CLI::Option* option = is_flag(row) ? parser_.add_flag_callback(spelled, [heard] { heard({}); })
                                       : parser_.add_option_function<std::string>(spelled, heard);
    option->trigger_on_parse();
  }

  Error misplaced(const OptionRow& row, const std::string& spelled) const {
    if (command_ == nullptr) return usage_error("option " + spelled + " comes before the command", "");
    const std::string command(command_->name);
    const std::string few = command_list(row.commands);
    const bool flock_and_others =
        row.id == OptionId::kClose && has_option(command_->command, option_row(OptionId::kJson));
    const std::string message = "'dlock " + command + "' has no option " + spelled;
    if (flock_and_others) return usage_error(message, "for JSON write: --json");
    const auto foreign = foreign_option(row.name);  // of one command, and something else in another program
    if (foreign) return usage_error(message, foreign->next);
    return usage_error(message, (few.empty() ? "" : "it belongs to " + few + "; ") + "see: dlock help " + command);
  }

  Error unknown(std::string_view spelled, std::string_view name) const {
    if (auto error = foreign_option(name)) return std::move(*error);
    const std::string help = command_ == nullptr ? "dlock help" : "dlock help " + std::string(command_->name);
    // A letter is near to every other letter: only names get a suggestion.
    const std::string_view best = !spelled.starts_with("--")
                                      ? std::string_view()
                                      : nearest_option(name, command_ == nullptr ? Command::kRun : command_->command);
    return usage_error("unknown option " + in_quotes(spelled),
                       best.empty() ? "all options: " + help : did_you_mean("--" + std::string(best)));
  }

  /// The last word, "--name" or letters, lacks its value: every other one has had the next word.
  Error value_missing(std::string_view word) const {
    const bool letters = !word.starts_with("--");
    const std::string name = letters ? std::string{'-', word.back()} : std::string(word);
    const OptionRow* row = letters ? find_option(word.back(), command_) : find_option(word.substr(2), command_);
    return usage_error("option " + name + " needs a value", "write: " + name + " " + std::string(row->value.name));
  }

  const bool ends_;
  const CommandRow* const command_;
  CLI::App parser_;
  std::vector<std::string> parts_;
  bool wants_value_ = false;  ///< what was added last
  GivenOptions out_;
};

}  // namespace

bool is_word_taken(const OptionRow& row, std::string_view value) {
  const bool counts = row.value.kind == ValueKind::kNumber || row.value.kind == ValueKind::kDuration;
  return counts && !value.empty() && ((value.front() | 0x20) >= 'a' && (value.front() | 0x20) <= 'z');
}

Result<GivenOptions> read_given_options(std::span<char* const> words, OperandsMay operands, const CommandRow* command) {
  const auto first = operands == OperandsMay::kEndOptions ? words.first(std::min<std::size_t>(words.size(), 1)) : words;
  if (std::none_of(first.begin(), first.end(), looks_like_option))
    return GivenOptions{{}, nullptr, words, {words.begin(), words.end()}};
  return GivenOptionReader(operands, command).read(words);
}

}  // namespace dlock
