// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/inspect.h"

#include <unistd.h>

#include <algorithm>

#include "cmd/commands/watch_locks.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/history_text.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/show/watch.h"
#include "lib/base/human_text.h"
#include "lib/history/event_source.h"

namespace dlock {
namespace {

std::string live_json(const LiveLocks& live) {
  std::string lines;
  for (const LockState& state : live.locks) lines += inspect_json(state) + '\n';
  return lines;
}

/// How the last hold of a lock that is free ended, as far as that was recorded.
std::string last_hold_text(const std::vector<Episode>& past, const LockState& state, WallTime now) {
  if (!state.holders.empty()) return {};
  const auto last = std::find_if(past.rbegin(), past.rend(), [&](const Episode& one) {
    return one.granted && one.key == state.name.text() && (one.store.empty() || one.store == state.store);
  });
  if (last == past.rend()) return {};
  std::string text = "last held by " + party_text(last->who);
  if (last->held) text += " for " + human_duration(*last->held);
  if (last->ended) text += ", until " + human_duration(age(*last->ended, now)) + " ago";
  return text + ": " + outcome_text(*last);
}

std::vector<Episode> read_past(const LiveLocks& live, const Options& options, WallTime now) {
  const auto is_free = [](const LockState& state) { return state.holders.empty(); };
  const bool wanted = std::any_of(live.locks.begin(), live.locks.end(), is_free);
  if (!wanted || options.events.kind == EventPlace::Kind::kOff) return {};
  History history;
  // Whoever only wants to know who holds it need not be able to read what was.
  (void)read_events(options.events, [&](std::string_view line) { history.add_line(line); });
  history.finish(now);
  return history.episodes();
}

std::string live_text(const LiveLocks& live, const Options& options, LockAdmin& backend, WallTime now,
                      const Look& look) {
  if (!live.locks.empty()) {
    Remarks remarks;
    const std::vector<Episode> past = read_past(live, options, now);
    for (const LockState& state : live.locks) {
      std::string said = last_hold_text(past, state, now);
      if (said.empty()) said = why_free_text(state, backend);
      if (!said.empty()) remarks[state.name] = std::move(said);
    }
    return inspect_text(live.locks, now, look, remarks);
  }
  if (live.unreadable > 0) return {};
  if (options.keys.empty()) return "no lock is held or waited for in " + printable(backend.store()) + '\n';
  std::string patterns;
  for (const LockName& key : options.keys) patterns += (patterns.empty() ? "" : ", ") + printable(key.text());
  return "no lock that is held or waited for in " + printable(backend.store()) + " matches " + patterns + '\n';
}

}  // namespace

int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  if (options.watch && out.look().terminal && !options.json) {
    const bool keyboard = isatty(STDIN_FILENO) == 1;
    return keyboard ? watch_locks(options, backend, runtime, out, STDIN_FILENO)
                    : watch_on_terminal(options, backend, runtime, out);
  }
  if (options.watch) return watch_as_stream(options, backend, runtime, out);
  const auto live = look_at_locks(options, backend);
  if (!live) return fail(runtime.log, live.error());
  const int printed =
      print(out, runtime.log,
            options.json ? live_json(*live) : live_text(*live, options, backend, runtime.clock.wall(), out.look()));
  if (printed != 0 || live->unreadable == 0) return printed;
  return fail(runtime.log, unreadable_error(*live, backend));
}

}  // namespace dlock
