// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <unistd.h>

#include <algorithm>

#include "cmd/show/exit_status.h"
#include "cmd/show/history_text.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/show/screen.h"
#include "lib/base/human_text.h"
#include "lib/history/event_log.h"
#include "lib/lock/once_session.h"

namespace dlock {
namespace {

constexpr int kExitOlder = 1;  ///< of --older-than, as monitoring programs take it: a warning

/// The record of earlier holds, if any of these locks is free.
std::vector<Episode> read_past(const LiveLocks& live, const Options& options, WallTime now) {
  const auto is_free = [](const LockState& state) { return state.holders.empty(); };
  const bool wanted = std::any_of(live.locks.begin(), live.locks.end(), is_free);
  if (!wanted || options.events.kind == EventPlace::Kind::kOff) return {};
  const auto history = read_history(options.events, now);  // whoever asks who holds it may be unable to read what was
  return history ? history->episodes() : std::vector<Episode>();
}

const Episode* last_hold(const std::vector<Episode>& past, const LockState& state) {
  if (!state.holders.empty()) return nullptr;
  const auto last = std::find_if(past.rbegin(), past.rend(), [&](const Episode& one) {
    return one.granted && one.key == state.name.text() && (one.store.empty() || one.store == state.store);
  });
  return last == past.rend() ? nullptr : &*last;
}

std::string last_hold_text(const Episode& last, WallTime now) {
  std::string text = "last held by " + participant_text(last.who);
  if (last.held) text += " for " + human_duration(*last.held);
  if (last.ended) text += ", until " + human_duration(age(*last.ended, now)) + " ago";
  return text + ": " + outcome_text(last);
}

std::string live_json(const LiveLocks& live, const Options& options, WallTime now) {
  const std::vector<Episode> past = read_past(live, options, now);
  std::string lines;
  for (const LockState& state : live.locks) lines += inspect_json(state, last_hold(past, state)) + '\n';
  return lines;
}

std::string live_text(const LiveLocks& live, const Options& options, LockAdmin& backend, WallTime now,
                      const Look& look) {
  if (!live.locks.empty()) {
    Remarks remarks;
    const std::vector<Episode> past = read_past(live, options, now);
    for (const LockState& state : live.locks) {
      const Episode* last = last_hold(past, state);
      std::string said = last ? last_hold_text(*last, now) : why_free_text(state, backend);
      if (!said.empty()) remarks[state.name] = std::move(said);
    }
    return inspect_text(live.locks, now, look, remarks);
  }
  if (!live.unreadable.empty()) return {};
  if (options.keys.empty()) return "no lock is held or waited for in " + printable(backend.store()) + '\n';
  std::string patterns;
  for (const LockName& key : options.keys) patterns += (patterns.empty() ? "" : ", ") + printable(key.text());
  return "no lock held or waited for in " + printable(backend.store()) + " matches " + patterns + '\n';
}

/// Those that are held for longer, and a word for each of which that is not known.
std::vector<std::string> keep_older(LiveLocks& live, Duration limit, WallTime now) {
  std::vector<std::string> unknown;
  std::erase_if(live.locks, [&](const LockState& state) {
    const bool is_older = oldest_hold(state, now).value_or(Duration(0)) > limit;
    if (!is_older && !knows_every_age(state)) unknown.push_back(state.name.text());
    return !is_older;
  });
  return unknown;
}

Error unknown_ages(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return {ErrorCode::kDenied, "it is not known since when this is held: " + text, "see who has it: dlock inspect"};
}

std::string none_older_text(const Options& options, const LockAdmin& backend) {
  return "no lock in " + printable(backend.store()) + " is held for longer than " +
         human_duration(*options.older_than) + '\n';
}

/// A screenful of what inspect prints now. A store that does not answer is shown, not fatal.
std::string live_frame(const Options& options, LockAdmin& backend, const Runtime& runtime, const Output& out) {
  constexpr std::size_t kTitleLines = 2;
  Look look = out.look();
  look.width -= std::min<std::size_t>(look.width, 1);  // erasing behind a full line erases its last character
  look.height -= std::min(look.height, kTitleLines);
  const std::string title = watch_title(backend.store(), runtime, look);
  const auto live = look_at_locks(options, backend, runtime.clock);
  if (!live) return title + printable(live.error().message) + '\n';
  const std::string text = live_text(*live, options, backend, runtime.clock.wall(), look);
  return live->unreadable.empty() ? title + text
                                  : title + printable(unreadable_error(*live, backend).message) + '\n' + text;
}

}  // namespace

int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  if (options.watch && out.look().terminal && !options.json) {
    const int input = isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : -1;
    return watch_screen(
        options.interval.value_or(std::chrono::seconds(1)), [&] { return live_frame(options, backend, runtime, out); },
        runtime, out, input);
  }
  if (options.watch) return watch_as_stream(options, backend, runtime, out);
  auto live = look_at_locks(options, backend, runtime.clock);
  if (!live) return fail(runtime.log, live.error());
  for (LockState& state : live->locks) {
    const bool named = std::find(options.keys.begin(), options.keys.end(), state.name) != options.keys.end();
    if (named) add_remembered(state, backend);
  }
  const WallTime now = runtime.clock.wall();
  std::vector<std::string> unknown;
  if (options.older_than) unknown = keep_older(*live, *options.older_than, now);
  const bool none = options.older_than && live->locks.empty();
  const std::string text = options.json               ? live_json(*live, options, now)
                           : none && !unknown.empty() ? ""
                           : none                     ? none_older_text(options, backend)
                                                      : live_text(*live, options, backend, now, out.look());
  const int printed = print(out, runtime.log, text);
  if (printed != 0) return printed;
  if (!live->unreadable.empty()) return fail(runtime.log, unreadable_error(*live, backend));
  if (!unknown.empty()) {
    const int status = fail(runtime.log, unknown_ages(unknown));
    if (none) return status;
  }
  return options.older_than && !none ? kExitOlder : 0;
}

}  // namespace dlock
