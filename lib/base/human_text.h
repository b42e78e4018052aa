// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace dlock {

/// A length of time for people, two units at most: "350 ms", "41 s", "2 min 5 s", "3 h 20 min", "4 d 1 h". Rounded
/// down; below zero (clocks that disagree) is "0 s".
std::string human_duration(Duration length);

/// RFC 3339 in UTC with milliseconds: "2026-02-03T04:05:06.789Z".
std::string rfc3339(WallTime time);

/// `text` without control characters and broken UTF-8 (each becomes U+FFFD), cut with an ellipsis to `most` bytes: what
/// other users or servers wrote never steers our terminal, nor fills it.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// The most bytes of a server's own words in a message.
inline constexpr std::size_t kForeignWords = 256;

/// How many columns `text` takes on a terminal: wide East Asian characters and emoji take two, combining marks none.
std::size_t display_width(std::string_view text);

/// `text`, cut to `columns` with an ellipsis at the end if it is wider.
std::string elided(std::string_view text, std::size_t columns);

/// The permissions in a file's mode, as chmod(1) takes them: "0640".
std::string permissions_text(unsigned mode);

/// `word` as one would type it in a shell: quoted only where needed.
std::string shell_word(std::string_view word);
/// The same to be shown and typed: control characters stand as bash, zsh and ksh read them in $'...'.
std::string shown_shell_word(std::string_view word);

/// "USR1", or "signal 40" for one without a name.
std::string signal_text(int number);

/// How a process ended, by its wait status: "status 3", "ended by KILL".
std::string wait_status_text(int wait_status);

}  // namespace dlock
