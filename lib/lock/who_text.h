// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/lock/holder.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

inline constexpr std::size_t kLongestCommandName = 32;  ///< bytes

/// Name of a command in a record: the last part of `path`, without blanks and control characters, cut to
/// kLongestCommandName.
std::string command_name(std::string_view path);

/// Our own description, as a store keeps it beside a hold: host, pid of the supervisor (our parent), user and reason,
/// with a control character in between. The pid has the command's name after a colon, and of what `acquire` takes the
/// process to which it is left, or 0, after a blank: "8812 4711"; of a run --at-least in ms, --replace or --newest, and
/// the ttl in ms stand there: "8812:deploy.sh >0 30000", ">60000 30000", ">0r 30000", ">0n 30000".
std::string who_text(const LockSpec& spec);
std::string who_text(const std::string& reason);

/// Our own description and reason for those who lose a lock by us: "deploy@ci-4: release 2.5".
std::string who_asks(const std::string& reason);
/// The same of a `run --replace`.
std::string who_replaces(const std::string& reason);

/// `who`, a text of who_text(), with the slot of its holder added as one more part.
std::string with_slot(std::string who, const std::string& slot);

/// The same with `by`, who has asked its holder to end and why, in the place of an earlier one.
std::string with_revocation(std::string_view who, const std::string& by);
/// The author of a revocation, in a text of with_revocation(), or a record that ends with one; empty: none.
std::string revocation_of(std::string_view record);
/// In the place of `by`: the command has ended, and how (Participant::ran), so that there is no one to ask.
std::string ran_word(const std::string& ran);
/// Fills `participant` from such a word.
void add_word(Participant& participant, std::string_view word);

/// Fills `participant`, which `holds` or waits, from a text of who_text() and with_slot(). Ignores other texts.
void add_who(Participant& participant, std::string_view text, bool holds);
/// The same for a participant that holds if its token is set.
void add_who(Participant& participant, std::string_view text);
/// The slot in a text of with_slot(); empty if there is none.
std::string slot_of(std::string_view who);

}  // namespace dlock
