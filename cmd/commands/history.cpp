// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/history.h"

#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cmd/show/exit_status.h"
#include "cmd/show/history_picture.h"
#include "cmd/show/history_text.h"
#include "cmd/wiring/compose.h"
#include "lib/history/event_source.h"
#include "lib/run/signal_inbox.h"

namespace dlock {
namespace {

/// The name under which the store that was typed stands in the record; nullopt: the locks of all stores are meant.
Result<std::optional<std::string>> wanted_store(const Options& options, const Runtime& runtime) {
  if (!options.store_typed) return std::optional<std::string>();
  const BackendUrl& url = options.backends.front();
  if (!url.is_local()) return std::optional(url.redacted());
  const auto admin = open_admin(url, runtime);  // it knows its directory, and is asked for nothing
  if (!admin) return admin.error();
  const auto* here = std::get_if<std::unique_ptr<LockAdmin>>(&*admin);
  return std::optional(here ? (*here)->store() : url.redacted());
}

bool is_wanted(const Episode& episode, const Options& options, WallTime now) {
  const WallTime end = episode.ended.value_or(now);
  if (options.since && end < *options.since) return false;
  if (options.until && episode.asked > *options.until) return false;
  const auto matches = [&](const LockName& key) {
    return key.text() == episode.key || fnmatch(key.text().c_str(), episode.key.c_str(), 0) == 0;
  };
  return options.keys.empty() || std::any_of(options.keys.begin(), options.keys.end(), matches);
}

std::string count_of(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// What a reader should know of the record itself.
void tell_flaws(const History& history, const Options& options, const Log& log) {
  if (history.torn() > 0) {
    log.warn(options.events.text() + " has " + count_of(history.torn(), "event", "events") +
             " of which only a piece is there: skipped");
  }
  if (history.foreign() > 0) {
    log.notice(options.events.text() + " has " + count_of(history.foreign(), "line that is", "lines that are") +
               " no event: skipped");
  }
  if (history.clock_steps() > 0) {
    log.warn("the clock went back " + count_of(history.clock_steps(), "time", "times") +
             ": lengths are right, times of day may not be");
  }
}

std::string rendered(const std::vector<Episode>& episodes, const Options& options, WallTime now, const Look& look) {
  if (options.svg) return timeline_svg(history_picture(episodes, now, options.since, options.until));
  const auto totals = totals_of(episodes);
  if (options.json) return history_json(episodes, totals);
  if (episodes.empty()) {
    const bool all = !options.store_typed && options.keys.empty() && !options.since && !options.until;
    return std::string(all ? "nothing" : "nothing of that") + " is recorded in " + options.events.text() + '\n';
  }
  return history_text(episodes, totals, look);
}

}  // namespace

int history_command(const Options& options, const Runtime& runtime, Output& out) {
  heed_children();
  History history;
  const auto use = [&](std::string_view line) { history.add_line(line); };
  const auto read = read_events(options.events, use, Pipes::kRead);
  if (!read) return fail(runtime.log, read.error());
  const auto store = wanted_store(options, runtime);
  if (!store) return fail(runtime.log, store.error());
  const WallTime now = runtime.clock.wall();
  history.finish(now);
  tell_flaws(history, options, runtime.log);
  std::vector<Episode> episodes;
  for (const Episode& episode : history.episodes()) {
    const bool there = !*store || episode.store == **store;
    if (there && is_wanted(episode, options, now)) episodes.push_back(episode);
  }
  return print(out, runtime.log, rendered(episodes, options, now, out.look()));
}

}  // namespace dlock
