// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/completion.h"

#include "cmd/options/options.h"
#include "cmd/options/stock_actions.h"

namespace dlock {
namespace {

/// The values of an option, between blanks or bars, besides the names of files; empty when they cannot be known.
std::string_view value_words(const OptionRow& row) {
  return row.value.kind == ValueKind::kChoice ? row.value.name : row.words;
}

/// Walks over the words before the one that is being typed, then offers what may follow.
class Completer {
 public:
  explicit Completer(const std::vector<std::string_view>& words)
      : words_(words.begin(), words.end() - 1), typed_(words.back()) {}

  Completion complete() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == "--") return behind_dashes(i);
      take(words_[i]);
    }
    out_.typed = typed_;
    if (waiting_ != nullptr) offer_values(*waiting_);
    else if (is_option(typed_)) offer_options();
    else offer_operands();
    return std::move(out_);
  }

 private:
  Completion behind_dashes(std::size_t at) {
    const Operands shape = command_ == nullptr ? Operands::kNone : command_->shape;
    const bool child = shape == Operands::kKeysAndCommand || shape == Operands::kFence || shape == Operands::kStock;
    if (child && !operands_.empty()) out_.lines = ":command " + std::to_string(at + 2) + "\n";
    return std::move(out_);
  }

  /// Options end at the first KEY of run and fence; behind it a dash belongs to CMD.
  bool options_have_ended() const {
    const bool stops =
        command_ != nullptr && (command_->shape == Operands::kKeysAndCommand || command_->shape == Operands::kFence);
    return stops && !operands_.empty();
  }

  bool is_option(std::string_view word) const { return word.starts_with('-') && !options_have_ended(); }

  const OptionRow* find_row(std::string_view word) const {
    if (!word.starts_with("--")) return word.size() > 1 ? find_option(word.back()) : nullptr;
    return find_option(word.substr(2, word.find('=') - 2), command_);
  }

  void take(std::string_view word) {
    if (waiting_ != nullptr) return take_value(*std::exchange(waiting_, nullptr), word);
    if (!is_option(word)) return take_operand(word);
    const OptionRow* row = find_row(word);
    if (row == nullptr || row->value.kind == ValueKind::kFlag) return;
    if (const std::size_t equals = word.find('='); equals != word.npos)
      return take_value(*row, word.substr(equals + 1));
    waiting_ = row;
  }

  void take_value(const OptionRow& row, std::string_view value) {
    if (row.id != OptionId::kBackend && row.id != OptionId::kConfig) return;
    out_.where.push_back({&row, std::string(value), "--" + std::string(row.name)});
  }

  void take_operand(std::string_view word) {
    if (begun_) return operands_.push_back(word);
    command_ = find_command(word);
    begun_ = true;
  }

  void offer(std::string_view word, std::string_view about = {}) {
    if (!word.starts_with(out_.typed)) return;
    out_.lines.append(out_.before).append(word).append(about.empty() ? "" : "\t").append(about).append("\n");
  }

  void offer_words(std::string_view words) {
    for_each_word(words, [&](std::string_view one) { offer(one); });
  }

  void offer_values(const OptionRow& row) {
    offer_words(value_words(row));
    if (row.value.kind == ValueKind::kFile) out_.lines += ":files\n";
    if (row.value.kind != ValueKind::kBackend) return;
    offer("local:");
    out_.live = Completion::Live::kBackends;
  }

  void offer_options() {
    if (const std::size_t equals = typed_.find('='); equals != typed_.npos) {
      const OptionRow* row = find_row(typed_);
      out_.before = typed_.substr(0, equals + 1);
      out_.typed = typed_.substr(equals + 1);
      if (row != nullptr && row->value.kind != ValueKind::kFlag) offer_values(*row);
      return;
    }
    for (const OptionRow& row : option_rows()) {
      if (!belongs_here(row)) continue;
      const std::string_view about = command_ == nullptr ? row.help : help_in(command_->command, row);
      offer("--" + std::string(row.name), about);
    }
  }

  bool belongs_here(const OptionRow& row) const {
    if (command_ != nullptr && command_->shape == Operands::kStock && !operands_.empty()) {
      const auto action = find_stock_action(operands_.front(), {});
      if (action) return has_option((*action)->action, row);
    }
    return has_option(command_, row);
  }

  void offer_operands() {
    if (!begun_) return offer_commands();
    if (command_ == nullptr) return;
    const std::size_t before = operands_.size();
    switch (command_->shape) {
      case Operands::kKeysAndCommand:
      case Operands::kAnyKeys:
        return offer_live(Completion::Live::kKeys);
      case Operands::kOneKey:
      case Operands::kKeyAndToken:
        if (before == 0) offer_live(Completion::Live::kKeys);
        return;
      case Operands::kStock:
        if (before == 0) offer_actions();
        else if (before == 1) offer_live(Completion::Live::kStocks);
        return;
      case Operands::kConfig:
        if (before == 1 && operands_.front() == "show") return offer_live(Completion::Live::kKeys);
        [[fallthrough]];
      case Operands::kOneWord:
      case Operands::kMaybeWord:
        if (before == 0) offer_words(command_->words);
        return;
      case Operands::kMaybeCommand:
        if (before == 0) offer_pages();
        else if (before == 1 && operands_.front() == "stock") offer_actions();
        return;
      case Operands::kFence:
      case Operands::kNone:
        return;
    }
  }

  void offer_live(Completion::Live live) { out_.live = live; }

  void offer_commands() {
    for (const CommandRow& row : command_rows()) {
      if (!row.group.empty()) offer(row.name, row.summary);
    }
  }

  void offer_pages() {
    offer_commands();
    offer("options", "the options of every command");
  }

  void offer_actions() {
    for (const StockActionRow& action : stock_action_rows()) offer(action.name, action.summary);
  }

  const std::vector<std::string_view> words_;
  const std::string_view typed_;
  const CommandRow* command_ = nullptr;
  bool begun_ = false;  ///< the word of the command has been there, right or wrong
  std::vector<std::string_view> operands_;
  const OptionRow* waiting_ = nullptr;  ///< has its value in the next word
  Completion out_;
};

/// bash has cut the words at = and :, and replaces only what stands behind the last one.
constexpr char kBash[] = R"(# bash completion for dlock
_dlock() {
  local rest=$COMP_LINE word line i breaks='='
  local -a words=() at=()
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i == 0)) || [[ ! $rest || $rest == [[:blank:]]* ]]; then words+=("$word") at+=("$i")
    else words[-1]+=$word; fi
    rest=${rest#"${rest%%[![:blank:]]*}"}
    rest=${rest#"$word"}
  done
  word=${words[-1]}
  while IFS=$'\t' read -r line _; do
    case $line in
      :files) COMPREPLY+=($(compgen -f -- "${word#--*=}")) ;;
      :command*)
        i=${at[${line#* }]}
        if declare -F _command_offset >/dev/null; then _command_offset "$i"
        elif ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$word"))
        else COMPREPLY=($(compgen -f -- "$word")); fi
        return 0 ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(dlock __complete "${words[@]:1}" 2>/dev/null)
  [[ $COMP_WORDBREAKS != *:* ]] || breaks='=:'
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[$breaks]}"}"}")
}
complete -F _dlock dlock
)";

constexpr char kZsh[] = R"(#compdef dlock
_dlock() {
  local line
  local -a names shown
  for line in "${(@f)$(dlock __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      (:files) [[ $PREFIX != -*=* ]] || compset -P '*='; _files ;;
      (:command*) words=("${(@)words[${line#* }+1,-1]}"); ((CURRENT -= ${line#* })); _normal; return ;;
      (?*) names+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  -- }") ;;
    esac
  done
  compadd -l -d shown -a names
}
if [[ $funcstack[1] == _dlock ]]; then _dlock "$@"; else compdef _dlock dlock; fi
)";

constexpr char kFish[] = R"(# fish completion for dlock
function __dlock_complete
    set -l typed (commandline -ct)
    set -l words (commandline -opc) "$typed"
    for line in (dlock __complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                string replace -r '^' -- (string match -r '^--[^=]*=' -- $typed; or echo '') (__fish_complete_path (string replace -r '^--[^=]*=' '' -- $typed))
            case ':command *'
                set -l at (math (string replace ':command ' '' -- $line) + 1)
                complete -C (string join ' ' -- (string escape -- $words[$at..-2]) $typed)
            case '*'
                echo $line
        end
    end
end
complete -c dlock -f -a '(__dlock_complete)'
)";

}  // namespace

Completion complete_words(const std::vector<std::string_view>& words) {
  return words.empty() ? Completion() : Completer(words).complete();
}

Result<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return Error{ErrorCode::kInvalid, "no completion for '" + shell + "'", "the shells are bash, zsh and fish"};
}

}  // namespace dlock
