// SPDX-License-Identifier: Apache-2.0
// The only file that knows CLI11. What costs a start is what is registered, so only the spellings that occur are, each
// as an option of its own: CLI11 then says which words are options, which are their values, and which are neither.
#include "cmd/options/given_options.h"

#include <algorithm>
#include <optional>
#include <ostream>

// <iostream> has a global constructor. All that CLI11 wants of it are two names, for functions that nobody calls here.
#define _GLIBCXX_IOSTREAM 1
namespace std {
extern ostream cout;
extern ostream cerr;
}  // namespace std
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

/// CLI11 gets copies, and what is no option here is behind a mark in them, as a value of the letter "?": "-nZ" is
/// "-n?.Z", and "--bogus" is "-?..--bogus". A dot is a NUL, which no word of argv can hold, so that the mark can be
/// taken out again of what turns out to be the value of another option.
constexpr std::string_view kLetterMark("?\0", 2);
constexpr std::string_view kNameMark("-?\0\0", 4);

std::string unmarked(std::string text) {
  if (text.starts_with(kNameMark)) return text.erase(0, kNameMark.size());
  const std::size_t nul = text.find('\0');
  return nul == std::string::npos ? text : text.erase(nul - 1, kLetterMark.size());
}

/// Gives an option its name, which CLI11 splits out of a text otherwise, asking for the locale: 20 µs of a start.
struct NamedOption : CLI::Option {
  static void name(CLI::Option& option, std::string_view spelled) {
    if (spelled.starts_with("--")) (option.*(&NamedOption::lnames_)).emplace_back(spelled.substr(2));
    else (option.*(&NamedOption::snames_)).emplace_back(spelled.substr(1));
  }
};

/// One without a --help of its own, which would be the most expensive of all options.
struct BareParser : CLI::App {
  BareParser() : App({}, {}, nullptr) {}
};

/// "--ttl" of "--ttl=5".
std::string_view spelled_long(std::string_view word) { return word.substr(0, word.find('=')); }

class GivenOptionReader {
 public:
  GivenOptionReader(OperandsMay operands, const CommandRow* command)
      : ends_(operands == OperandsMay::kEndOptions), command_(command) {
    parser_.allow_extras();
    parser_.prefix_command(ends_);
  }

  Result<GivenOptions> read(std::span<char* const> words) {
    std::vector<std::string> copies;
    for (const std::string_view word : words) {
      const bool option = looks_like_option(word);
      if (ends_ && !option && !wants_value_) break;  // the first operand: neither it nor CMD is CLI11's business
      wants_value_ = false;
      copies.push_back(option && word != "--" ? register_options(word) : std::string(word));
    }
    const auto read = words.first(copies.size());
    std::reverse(copies.begin(), copies.end());  // CLI11 takes them from the back
    try {
      parser_.parse(std::move(copies));
    } catch (const CLI::ConversionError&) {  // a callback has said no: nothing behind it counts
      if (refusal_) return std::move(*refusal_);
      return std::move(out_);
    } catch (const CLI::ArgumentMismatch&) {
      return value_missing(read.back());
    }
    const std::vector<std::string> remaining = parser_.remaining();
    if (ends_) out_.rest = words.subspan(read.size() - remaining.size());
    else out_.operands = found_again(remaining, words);
    return std::move(out_);
  }

 private:
  /// What CLI11 is to read instead of `word`.
  std::string register_options(std::string_view word) {
    return word.starts_with("--") ? register_long(word) : register_letters(word);
  }

  std::string register_long(std::string_view word) {
    const std::string_view spelled = spelled_long(word);
    const OptionRow* row = find_option(spelled.substr(2), command_);
    const bool has_value = spelled.size() < word.size();
    std::string copy(word);
    if (row == nullptr || !belongs_here(*row) || (has_value && row->value.kind == ValueKind::kFlag)) {
      register_misfit();
      return copy.insert(0, kNameMark);
    }
    register_option(*row, spelled);
    wants_value_ = !has_value && row->value.kind != ValueKind::kFlag;
    // Without the mark "--ttl=" takes the next word for its value.
    return has_value ? copy.insert(spelled.size() + 1, kLetterMark) : copy;
  }

  std::string register_letters(std::string_view word) {
    std::string copy(word);
    if (is_long_name(word.substr(1))) {
      register_misfit();
      return copy.insert(0, kNameMark);
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const OptionRow* row = find_option(word[i], command_);
      if (row == nullptr || !belongs_here(*row)) {
        register_misfit();
        return copy.insert(i, kLetterMark);
      }
      register_option(*row, std::string{'-', word[i]});
      if (row->value.kind == ValueKind::kFlag) continue;
      wants_value_ = i + 1 == word.size();
      break;
    }
    return copy;
  }

  /// "timeout=15s" behind one dash, as Go's flags are written: no row of letters has a meaning that spells a name.
  bool is_long_name(std::string_view letters) const {
    constexpr std::size_t kShortestName = 3;
    const std::string_view name = letters.substr(0, letters.find('='));
    const OptionRow* row = name.size() < kShortestName ? nullptr : find_option(name, command_);
    return row != nullptr && (command_ == nullptr || belongs_here(*row));
  }

  bool belongs_here(const OptionRow& row) const { return has_option(command_, row); }

  void register_option(const OptionRow& row, std::string_view spelled) {
    const bool flag = row.value.kind == ValueKind::kFlag;
    add(std::string(spelled), flag, [this, &row, flag, name = std::string(spelled)](const CLI::results_t& values) {
      return hear(row, name, flag ? std::string() : unmarked(values.front()));
    });
  }

  void register_misfit() {
    add("-?", false, [this](const CLI::results_t& values) {
      refusal_ = refuse(values.front());
      return false;
    });
  }

  /// `heard` is called when the option is met and not at the end: the first mistake of a line is the one to tell.
  void add(const std::string& spelled, bool flag, CLI::callback_t heard) {
    if (parser_.get_option_no_throw(spelled) != nullptr) return;
    CLI::Option* option = parser_.add_option({}, std::move(heard));
    NamedOption::name(*option, spelled);
    option->trigger_on_parse();
    if (flag) option->expected(0);
  }

  bool hear(const OptionRow& row, const std::string& spelled, std::string value) {
    if (row.id == OptionId::kHelp || row.id == OptionId::kVersion) {
      out_.asked = &row;
      return false;
    }
    out_.options.push_back({&row, std::move(value), spelled});
    return true;
  }

  /// `marked` is what stands behind "?": one NUL, a letter and whatever follows, or two and "--name" or "--name=value",
  /// or "-name=value", a name behind one dash.
  Error refuse(std::string_view marked) const {
    const bool letter = marked[1] != '\0';
    const std::string_view misfit = marked.substr(letter ? 1 : 2);
    if (!letter && !misfit.starts_with("--")) {
      return usage_error("option " + in_quotes(misfit) + " has one dash",
                         "a long option has two: -" + std::string(misfit));
    }
    const std::string_view name =
        letter ? misfit.substr(0, front_character(misfit).bytes) : spelled_long(misfit).substr(2);
    const std::string spelled = (letter ? "-" : "--") + std::string(name);
    const OptionRow* row = letter ? find_option(misfit[0], command_) : find_option(name, command_);
    if (row == nullptr) return unknown(spelled, name);
    if (!belongs_here(*row)) return misplaced(*row, spelled);
    return usage_error("option " + spelled + " takes no value",
                       "leave '" + std::string(misfit.substr(spelled.size())) + "' out");
  }

  Error misplaced(const OptionRow& row, const std::string& spelled) const {
    if (command_ == nullptr) return usage_error("option " + spelled + " comes before the command", "");
    const std::string command(command_->name);
    const std::string few = command_list(row.commands);
    const bool flock_and_others =
        row.id == OptionId::kClose && has_option(command_->command, option_row(OptionId::kJson));
    if (flock_and_others)
      return usage_error("'dlock " + command + "' has no option " + spelled, "for JSON write: --json");
    return usage_error("'dlock " + command + "' has no option " + spelled,
                       (few.empty() ? "" : "it belongs to " + few + "; ") + "see: dlock help " + command);
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

  /// CLI11 has copies. Where a word stands twice, either of the two says the same.
  static std::vector<char*> found_again(const std::vector<std::string>& copies, std::span<char* const> words) {
    std::vector<char*> found;
    auto word = words.begin();
    for (const std::string& copy : copies) {
      word = std::find(word, words.end(), copy);
      found.push_back(*word++);
    }
    return found;
  }

  const bool ends_;
  const CommandRow* const command_;
  BareParser parser_;
  bool wants_value_ = false;  ///< the word before, if it is not a value itself
  GivenOptions out_;
  std::optional<Error> refusal_;
};

}  // namespace

Result<GivenOptions> read_given_options(std::span<char* const> words, OperandsMay operands, const CommandRow* command) {
  const auto first = operands == OperandsMay::kEndOptions ? words.first(std::min<std::size_t>(words.size(), 1)) : words;
  if (std::none_of(first.begin(), first.end(), looks_like_option))
    return GivenOptions{{}, nullptr, words, {words.begin(), words.end()}};
  return GivenOptionReader(operands, command).read(words);
}

}  // namespace dlock
