// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/render.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cmd/show/history_text.h"
#include "lib/base/human_text.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

/// One line of the table. The columns are aligned over all locks shown together; the remark (reason and note) takes
/// what is left of the line, or a line of its own.
struct Row {
  static constexpr std::size_t kColumns = 6;
  std::array<std::string, kColumns> cells;  ///< role, who, how long, slot, token, how long yet
  std::string note;
  std::string reason;
  bool holder = false;
};

using Widths = std::array<std::size_t, Row::kColumns>;

std::string lease_text(const Participant& participant, WallTime now) {
  if (const auto until = kept_until(participant, now)) return "kept until " + local_time(*until);
  if (!participant.until || participant.standing == Standing::kLeaseOver) return {};
  if (participant.standing == Standing::kUnheard) return "waited for until " + local_time(*participant.until);
  if (*participant.until <= now) return "lease ended";
  const std::string renewed =
      participant.renewed ? ", renewed " + human_duration(age(*participant.renewed, now)) + " ago" : "";
  return "ends in " + human_duration(*participant.until - now) + renewed;
}

std::string since_text(const Participant& participant, WallTime now) {
  if (!participant.since) return {};
  const std::string length = human_duration(age(*participant.since, now));
  return participant.ran.empty() ? "for " + length : length + " ago";
}

Row make_row(const LockState& state, const Participant& participant, std::string role, WallTime now) {
  Row row;
  row.holder = participant.token != FencingToken();
  row.cells = {std::move(role),
               participant_text(participant),
               since_text(participant, now),
               participant.slot.empty() ? "" : "slot " + printable(participant.slot),
               row.holder ? "token " + participant.token.text() : "",
               lease_text(participant, now)};
  if (participant.mode != state.mode) row.note = mode_name(participant.mode);
  if (participant.count > 1)
    row.note += (row.note.empty() ? "" : ", ") + ("entered " + std::to_string(participant.count) + " times");
  if (const std::string note = note_text(participant); !note.empty())
    row.note += (row.note.empty() ? "" : ", ") + printable(note);
  row.reason = reason_text(participant);
  return row;
}

std::vector<Row> rows_of(const LockState& state, WallTime now) {
  std::vector<Row> rows;
  for (const Participant& holder : state.holders) {
    rows.push_back(make_row(state, holder, holder.ran.empty() ? "holder" : "ran on", now));
    rows.back().holder = true;
  }
  for (const Participant& slot : state.remembered) rows.push_back(make_row(state, slot, "ran on", now));
  std::size_t place = 0;
  for (const Participant& waiter : state.waiters) {
    rows.push_back(make_row(state, waiter, "waits " + std::to_string(++place), now));
    rows.back().holder = false;
  }
  return rows;
}

Widths measure(const std::vector<std::vector<Row>>& blocks) {
  Widths widths{};
  for (const auto& rows : blocks) {
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < Row::kColumns; ++i) widths[i] = std::max(widths[i], display_width(row.cells[i]));
    }
  }
  return widths;
}

std::string heading(const LockState& state, const Look& look) {
  std::string what;
  if (state.holders.empty()) what = state.waiters.empty() ? "free" : "free, waited for";
  else if (state.mode == Mode::kPermits && state.permits > 0)
    what = std::to_string(state.holders.size()) + " of " + std::to_string(state.permits) + " permits held";
  else if (!foreign_data(state).empty()) what = "no lock";
  else what = std::string("held, ") + mode_name(state.mode);
  std::string store = printable(state.store);
  if (!state.directory_of.empty()) store += " of " + printable(state.directory_of);
  const std::string name = printable(state.name.text());
  const std::size_t used = display_width(name) + 2 + display_width(what) + 2 + display_width(store);
  const bool fits = look.width == 0 || used <= look.width;
  std::string line = painted(name, Paint::kBold, look.colour) + "  " + what;
  if (fits && !store.empty()) line += "  " + painted(store, Paint::kDim, look.colour);
  return line + '\n';
}

std::string row_text(const Row& row, const Widths& widths, const Look& look) {
  std::string line = "  ";
  std::size_t used = 2;
  std::size_t pending = 0;  // blanks that become real when something follows
  const auto add = [&](const std::string& cell, std::size_t width, std::optional<Paint> paint) {
    if (!cell.empty()) {
      line.append(pending, ' ').append(paint ? painted(cell, *paint, look.colour) : cell);
      used += pending + display_width(cell);
      pending = 0;
    }
    if (width > 0) pending += width - display_width(cell) + 2;
  };
  const std::size_t indent = 2 + widths[0] + 2;
  bool aligned = true;
  for (std::size_t i = 0; i < Row::kColumns; ++i) {
    const std::size_t wide = display_width(row.cells[i]);
    if (i > 1 && wide > 0 && look.width > 0 && used + pending + wide > look.width) {
      line += '\n' + std::string(indent, ' ');
      used = indent;
      pending = 0;
      aligned = false;
    }
    if (!aligned && wide == 0) continue;
    add(row.cells[i], aligned ? widths[i] : wide, i == 1 && row.holder ? std::optional(Paint::kBold) : std::nullopt);
  }
  const auto remark = [&](const std::string& text, std::optional<Paint> paint) {
    if (text.empty()) return;
    const std::size_t wide = display_width(text);
    if (look.width > 0 && used + pending + wide > look.width) pending = 2;  // not aligned, but still on this line
    if (look.width > 0 && used + pending + wide > look.width) {
      line += '\n' + std::string(indent, ' ');
      used = indent;
      pending = 0;
    }
    const std::string shown =
        look.width > 0 ? elided(text, std::max<std::size_t>(look.width, used + pending + 10) - used - pending) : text;
    add(shown, display_width(shown), paint);
  };
  remark(row.note, Paint::kYellow);
  remark(row.reason, std::nullopt);
  return line + '\n';
}

/// One lock, ready to be shown: what is always there, and the queue, which may be cut.
struct Block {
  std::string top;  ///< heading, remark and holders
  std::vector<std::string> queue;
  std::size_t more_waiters = 0;  ///< that are known by their number alone
};

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string more_line(std::size_t count) { return count == 0 ? "" : "  " + std::to_string(count) + " more\n"; }

Block make_block(const LockState& state, const std::vector<Row>& rows, const Widths& widths, const Look& look,
                 const std::string& remark) {
  Block block{.top = heading(state, look), .queue = {}, .more_waiters = state.more_waiters};
  if (!remark.empty()) block.top += "  " + printable(remark) + '\n';
  for (const Row& row : rows) {
    std::string text = row_text(row, widths, look);
    if (row.holder) block.top += text;
    else block.queue.push_back(std::move(text));
  }
  block.top += more_line(state.more_holders);
  if (!state.waiters_known && !state.holders.empty())
    block.top += "  waiters are not known: this store keeps no queue\n";
  return block;
}

/// With at most `queue` waiters by name.
std::string block_text(const Block& block, std::size_t queue) {
  std::string text = block.top;
  const std::size_t named = std::min(queue, block.queue.size());
  for (std::size_t i = 0; i < named; ++i) text += block.queue[i];
  return text + more_line(block.queue.size() - named + block.more_waiters);
}

std::size_t lines_of(const std::vector<Block>& blocks, std::size_t queue) {
  std::size_t lines = 0;
  for (const Block& block : blocks) lines += lines_in(block_text(block, queue));
  return lines;
}

/// How many waiters of each lock can be named so that all fits into `height` lines (0: any number): the first one
/// always, for who is next has to be seen.
std::size_t longest_queue(const std::vector<Block>& blocks, std::size_t height) {
  std::size_t longest = 1;
  for (const Block& block : blocks) longest = std::max(longest, block.queue.size());
  if (height == 0) return longest;
  std::size_t queue = std::min(longest, height);
  while (queue > 1 && lines_of(blocks, queue) > height) --queue;
  return queue;
}

}  // namespace

Duration age(WallTime since, WallTime now) { return std::max<Duration>(now - since, Duration::zero()); }

std::string reason_text(const Participant& participant) {
  constexpr std::size_t kColumns = 80;
  return elided(printable(participant.reason), kColumns);
}

std::string short_participant_text(const Participant& participant) {
  Participant brief = participant;
  if (!participant.host.empty()) brief.user.clear();
  if (!participant.command.empty()) {
    brief.pid = brief.command_pid = 0;
    brief.lease = false;
  }
  return participant_text(brief);
}

std::string inspect_text(const std::vector<LockState>& states, WallTime now, const Look& look, const Remarks& remarks) {
  std::vector<std::vector<Row>> rows;
  for (const LockState& state : states) rows.push_back(rows_of(state, now));
  const Widths widths = measure(rows);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto remark = remarks.find(states[i].name);
    blocks.push_back(make_block(states[i], rows[i], widths, look, remark == remarks.end() ? "" : remark->second));
  }
  const std::size_t queue = longest_queue(blocks, look.height);
  std::string text;
  for (const Block& block : blocks) text += block_text(block, queue);
  return text;
}

std::string inspect_json(const LockState& state, const Episode* last) {
  JsonWriter json("dlock.inspect/2");
  json.field("key", state.name.text()).field("store", state.store).field("mode", mode_name(state.mode));
  if (state.permits > 0) json.field("permits", state.permits);
  put_participants(json, "holders", state.holders);
  put_participants(json, "waiters", state.waiters);
  if (state.more_waiters > 0) json.field("more_waiters", state.more_waiters);
  if (!state.remembered.empty()) put_participants(json, "slots", state.remembered);
  if (!state.waiters_known) json.field("waiters_known", false);
  if (!state.directory_of.empty()) json.field("directory_of", state.directory_of);
  if (state.ever_taken) json.field("ever_taken", *state.ever_taken);
  if (last) put_episode(json.key("last"), *last);
  return json.end_object().str();
}

}  // namespace dlock
