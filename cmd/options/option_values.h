// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "cmd/options/options.h"
#include "lib/base/result.h"
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

/// The name of a file: not empty.
Result<std::string> parse_file(std::string_view text);

/// FILE, or fd:N with a number.
Result<void> check_report(std::string_view text);

}  // namespace dlock
