// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/options/option_table.h"
#include "cmd/options/options.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/config.h"
#include "lib/run/supervisor.h"

namespace dlock {

/// A decimal number without sign or blanks from `least` to `most`; else Invalid.
Result<std::int64_t> parse_number(std::string_view text, std::int64_t least, std::int64_t most);

/// The place of `text` in `choices` ("auto|always|never"), from 0; Invalid, naming the nearest, if it is not there.
Result<int> parse_choice(std::string_view text, std::string_view choices);

/// term, kill, ignore, or signal:SIG, where SIG is a number or a name with or without SIG.
Result<OnLost> parse_on_lost(std::string_view text);

/// "yes" or "no" of a flag in a file or variable: true, yes, on, 1; false, no, off, 0.
Result<bool> parse_flag(std::string_view text);

/// D, or D=N with an exit status N.
Result<WarnHeld> parse_warn_held(std::string_view text);

/// A text for others to read: at most 256 bytes.
Result<std::string> parse_reason(std::string_view text);

/// FILE, or fd:N with a number.
Result<void> check_report(std::string_view text);

/// The section of a Config in which there is what holds for the KEYs of this call.
inline constexpr std::string_view kChosenForKeys = "key";

/// Gives options their types. Of the files the KEYs' own sections beat [backend.NAME], and that beats [defaults]; flag
/// and environment beat all. An error begins with where the value comes from; it is Invalid for flags and variables,
/// Misconfigured for files. A value acts only in a command that has the option, and in `config` and `doctor`; elsewhere
/// it has to be right all the same, but counts as not set.
class OptionReader {
 public:
  /// `backend`: the section of the backend in use, "backend.NAME", or empty; `key`: that of a key. With `mistakes` a
  /// value that is wrong is put there, and counts as not set. Both must outlive this.
  OptionReader(const Config& config, Command command, std::string backend, std::string_view key = kChosenForKeys,
               std::vector<Error>* mistakes = nullptr)
      : config_(config), command_(command), backend_(std::move(backend)), key_(key), mistakes_(mistakes) {}

  /// nullptr if it is not set, or does not act in this command.
  const Setting* find(OptionId id) const;
  bool given_by_flag(OptionId id) const;

  /// Each of these leaves `out` unchanged if the option is not set.
  Result<void> read(OptionId id, Duration least, Duration& out) const;
  Result<void> read(OptionId id, std::int64_t least, std::int64_t most, int& out) const;
  Result<void> read(OptionId id, bool& out) const;
  Result<void> read(OptionId id, std::string& out) const;
  /// `Choice` is an enum whose enumerators stand in the order of the option's choices.
  template <typename Choice>
  Result<void> read_choice(OptionId id, Choice& out) const {
    TRY_ASSIGN(auto chosen, read_choice_number(id, static_cast<int>(out)));
    out = static_cast<Choice>(chosen);
    return {};
  }
  /// With a function of your own, string_view -> Result<T>.
  template <typename T, typename Parse>
  Result<void> read_with(OptionId id, Parse parse, T& out) const {
    const Setting* setting = look_up(id);
    if (setting == nullptr) return {};
    auto value = parse(setting->value());
    if (!value) return refuse(at(*setting, value.error()));
    if (find(id) != nullptr) out = std::move(*value);
    return {};
  }

  /// Returns `error`; with `mistakes` adds it there and returns success.
  Result<void> refuse(Error error) const;

  /// `error`, said about the value of `setting`.
  static Error at(const Setting& setting, Error error);

 private:
  const Setting* look_up(OptionId id) const;
  Result<int> read_choice_number(OptionId id, int otherwise) const;

  const Config& config_;
  Command command_;
  std::string backend_;
  std::string_view key_;
  std::vector<Error>* mistakes_;
};

}  // namespace dlock
