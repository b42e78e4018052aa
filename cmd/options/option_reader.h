// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cmd/options/option_table.h"
#include "cmd/options/options.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/config.h"
#include "lib/lock/lock_name.h"
#include "lib/run/supervisor.h"
#include "lib/stock/quantity.h"

namespace dlock {

// What a value has to be. All are Invalid if it is not.

/// A decimal number without sign or blanks from `least` to `most`.
Result<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most);

/// The place of `text` in `choices` ("auto|always|never"), from 0; the error names the nearest.
Result<std::int64_t> parse_choice(std::string_view text, std::string_view choices);

/// term, kill, or signal:SIG, where SIG is a number or a name with or without SIG.
Result<OnLost> parse_on_lost(std::string_view text);

/// "yes" or "no" of a flag in a file or variable: true, yes, on, 1; false, no, off, 0.
Result<bool> parse_flag(std::string_view text);

/// A duration from `least` to `most`.
Result<Duration> parse_limited(std::string_view text, Duration least, Duration most);

/// D, or D=N with an exit status N.
Result<WarnHeld> parse_warn_held(std::string_view text);

/// A text for others to read: at most 256 bytes.
Result<std::string> parse_reason(std::string_view text);

/// FILE, or fd:N with a number.
Result<std::string> parse_report(std::string_view text);

/// A moment that is told from now.
Result<WallTime> parse_past(std::string_view text);

/// Of a new stock, which may be empty; of a request.
Result<Quantity> parse_stock_size(std::string_view text);
Result<Quantity> parse_items(std::string_view text);
Result<LockName> parse_request_id(std::string_view text);

// How the rows of the option table read their value: `path` leads to its field, &Options::wait, or &Options::log,
// &Log::Style::quiet.

template <auto first, auto... rest>
auto& field_of(auto& in) {
  if constexpr (sizeof...(rest) == 0) return in.*first;
  else if constexpr (requires { (in.*first).has_value(); }) return field_of<rest...>(*(in.*first));
  else return field_of<rest...>(in.*first);
}

template <auto... path>
using FieldOf = std::remove_reference_t<decltype(field_of<path...>(std::declval<Options&>()))>;

template <typename Field>
struct ValueOf {
  using Type = Field;
};
template <typename Value>
struct ValueOf<std::optional<Value>> {
  using Type = Value;
};

/// A number, or that of a choice.
Result<std::int64_t> parse_whole(const OptionRow& row, std::string_view text);

/// As the type of the field and the row say.
template <typename Value>
Result<Value> parse_value(const OptionRow& row, std::string_view text) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_same_v<Value, Duration>) {
    return parse_limited(text, Duration(row.value.least), Duration(row.value.most));
  } else {
    if constexpr (std::is_same_v<Value, bool>) {
      if (row.value.kind == ValueKind::kFlag) return parse_flag(text);
    }
    TRY_ASSIGN(const auto number, parse_whole(row, text));
    return static_cast<Value>(number);
  }
}

/// An enum, or a bool, has the number of its choice.
template <auto... path>
Result<void> into(const OptionRow& row, const Setting& setting, Options* options) {
  TRY_ASSIGN(auto value, parse_value<typename ValueOf<FieldOf<path...>>::Type>(row, setting.value()));
  if (options != nullptr) field_of<path...>(*options) = std::move(value);
  return {};
}

template <auto parse, auto... path>
Result<void> parsed(const OptionRow& /*row*/, const Setting& setting, Options* options) {
  TRY_ASSIGN(auto value, parse(setting.value()));
  if (options != nullptr) field_of<path...>(*options) = std::move(value);
  return {};
}

/// A flag that stands for one value.
template <auto value, auto... path>
Result<void> set(const OptionRow& /*row*/, const Setting& /*setting*/, Options* options) {
  if (options != nullptr) field_of<path...>(*options) = value;
  return {};
}

/// --events: one that was typed has to be open.
Result<void> events(const OptionRow& row, const Setting& setting, Options* options);

/// The section of a Config in which there is what holds for the KEYs of this call.
inline constexpr std::string_view kChosenForKeys = "key";

/// What is set of the options. Of the files the KEYs' own sections beat [backend.NAME], and that beats [defaults]; flag
/// and environment beat all. A value acts only in a command that has the option, and in `config` and `doctor`;
/// elsewhere it has to be right all the same, but counts as not set.
class OptionReader {
 public:
  /// `backend`: the section of the backend in use, "backend.NAME", or empty; `key`: that of a key. `config` must
  /// outlive this.
  OptionReader(const Config& config, Command command, std::string backend, std::string_view key = kChosenForKeys)
      : config_(config), command_(command), backend_(std::move(backend)), key_(key) {}

  /// nullptr if it is not set, or does not act in this command.
  const Setting* find(const OptionRow& row) const;
  const Setting* find(OptionId id) const { return find(option_row(id)); }
  /// The same for one by flag.
  const Setting* find_typed(const OptionRow& row) const;
  const Setting* find_typed(OptionId id) const { return find_typed(option_row(id)); }

  /// Reads all that is set into the fields of their rows, and puts what is wrong, and which two that were typed do not
  /// go together, among options.mistakes. A mistake begins with where the value comes from; it is Invalid for flags and
  /// variables, Misconfigured for files.
  void read(Options& options) const;

  /// `error`, said about the value of `setting`.
  static Error at(const Setting& setting, Error error);

 private:
  const Setting* look_up(const OptionRow& row) const;
  void check_others(const OptionRow& row, Options& options) const;

  const Config& config_;
  Command command_;
  std::string backend_;
  std::string_view key_;
};

}  // namespace dlock
