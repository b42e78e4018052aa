// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/process_list.h"

#include <algorithm>

#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"
#include "lib/lock/who_text.h"
#include "lib/row_lock/record.h"

namespace dlock::mysql {
namespace {

/// Behind it comes the name of a lock.
std::string comment_begin(Strategy strategy) {
  return "SELECT /* dlock waits " + std::string(strategy_name(strategy)) + " ";
}

/// "x'NAME' OWNER MODE SINCE x'WHO' */ ...", from OWNER on.
std::optional<Participant> participant_of(std::string_view note) {
  const auto word = [&note] { return cut(note, ' '); };
  Participant participant;
  participant.owner = word();
  const auto mode = mode_of_letter(word());
  participant.since = wall_time(leading_number<std::int64_t>(word()));
  std::string_view who = word();
  if (!mode || !who.starts_with("x'")) return std::nullopt;
  participant.mode = *mode;
  who.remove_prefix(2);
  add_who(participant, from_hex(cut(who, '\'')).value_or(""));
  return participant;
}

/// The waiters of the locks whose literals begin with `name`.
Result<Waiters> read_waiters(Servers& servers, Strategy strategy, const std::string& name, TimePoint until,
                             Control* control) {
  const std::string begin = comment_begin(strategy);
  const std::string sought = begin + name;
  TRY_ASSIGN(const auto answer, servers.run("SELECT SUBSTR(INFO," + std::to_string(begin.size() + 1) +
                                                ") FROM information_schema.PROCESSLIST WHERE LEFT(INFO," +
                                                std::to_string(sought.size()) + ")=" + literal(sought),
                                            until, control));
  Waiters waiting;
  for (const Row& row : answer.rows) {
    const std::string info = mysql::text_of(row, 0);
    std::string_view note = info;
    std::string_view key = cut(note, ' ');
    key.remove_prefix(std::min<std::size_t>(2, key.size()));
    const auto of = from_hex(cut(key, '\''));
    auto participant = participant_of(note);
    if (of && participant) waiting[*of].push_back(std::move(*participant));
  }
  for (auto& [of, waiters] : waiting) {
    std::sort(waiters.begin(), waiters.end(),
              [](const Participant& a, const Participant& b) { return a.since < b.since; });
  }
  return waiting;
}

}  // namespace

std::string waiting_comment(Strategy strategy, const LockName& name, const WaitingNote& note) {
  if (!note.takes) return "SELECT /* dlock looks */ ";
  return comment_begin(strategy) + literal(name.text()) + " " + note.owner + " " + mode_letter(note.mode) + " " +
         std::to_string(note.since) + " " + literal(note.who) + " */ ";
}

Result<std::vector<Participant>> waiters_of(Servers& servers, Strategy strategy, const LockName& name, TimePoint until,
                                            Control* control) {
  TRY_ASSIGN(auto waiting, read_waiters(servers, strategy, literal(name.text()) + " ", until, control));
  return std::move(waiting[name.text()]);
}

Result<Waiters> all_waiters(Servers& servers, Strategy strategy, TimePoint until) {
  return read_waiters(servers, strategy, "x'", until, nullptr);
}

}  // namespace dlock::mysql
