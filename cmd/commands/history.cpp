// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/show/exit_status.h"
#include "cmd/show/history_text.h"
#include "cmd/show/screen.h"
#include "cmd/wiring/compose.h"
#include "lib/base/human_text.h"
#include "lib/history/event_log.h"
#include "lib/run/signal_inbox.h"

namespace dlock {
namespace {

/// The name under which the store that was typed stands in the record; nullopt: the locks of all stores are meant.
Result<std::optional<std::string>> wanted_store(const Options& options, const Runtime& runtime) {
  if (!options.store_typed) return std::optional<std::string>();
  const BackendUrl& url = options.backends.front();
  if (!url.is_local()) return std::optional(url.redacted());
  TRY_ASSIGN(const auto admin, open_admin(url, runtime));  // it knows its directory, and is asked for nothing
  const auto* here = std::get_if<std::unique_ptr<LockAdmin>>(&admin);
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

void tell_flaws(const History& history, const Options& options, const Log& log) {
  if (history.torn() > 0) {
    log.warn(options.events.text() + " has " + count_of(history.torn(), "event", "events") +
             " of which only a part was written: skipped");
  }
  if (history.foreign() > 0) {
    log.notice(options.events.text() + " has " +
               count_of(history.foreign(), "line that is not an event", "lines that are not events") + ": skipped");
  }
  if (history.clock_steps() > 0) {
    log.warn("the clock went back " + count_of(history.clock_steps(), "time", "times") +
             ": durations are right, times of day may not be");
  }
}

std::string rendered(const std::vector<Episode>& episodes, const Options& options, WallTime now, const Look& look) {
  if (options.svg) return timeline_svg(history_picture(episodes, now, options.since, options.until));
  const auto totals = totals_of(episodes);
  if (options.json) return history_json(episodes, totals);
  if (episodes.empty()) {
    const bool all = !options.store_typed && options.keys.empty() && !options.since && !options.until;
    return std::string(all ? "nothing" : "nothing that matches") + " is recorded in " + options.events.text() + '\n';
  }
  return history_text(episodes, totals, look);
}

std::vector<Episode> wanted(const History& history, const Options& options, const std::optional<std::string>& store,
                            WallTime now) {
  std::vector<Episode> episodes;
  for (const Episode& episode : history.episodes()) {
    if ((!store || episode.store == *store) && is_wanted(episode, options, now)) episodes.push_back(episode);
  }
  return episodes;
}

/// Each attempt that has ended since the last look.
class News {
 public:
  explicit News(const std::vector<Episode>& told) { (void)take(told); }

  std::vector<Episode> take(const std::vector<Episode>& episodes) {
    std::vector<Episode> news;
    std::map<std::string, int> now;  // an attempt has no number of its own: those that look the same are counted
    for (const Episode& episode : episodes) {
      if (!episode.ended) continue;
      std::string same = episode.key + '\0' + episode.who.owner + '\0' + rfc3339(episode.asked);
      if (++now[same] > told_[same]) news.push_back(episode);
    }
    told_ = std::move(now);
    return news;
  }

 private:
  std::map<std::string, int> told_;
};

int follow(News told, const Options& options, const std::optional<std::string>& store, const Runtime& runtime,
           Output& out) {
  constexpr std::chrono::seconds kInterval{1};
  const auto news = [&]() -> Result<std::string> {
    const WallTime now = runtime.clock.wall();
    TRY_ASSIGN(const auto history, read_history(options.events, now));
    const auto ended = told.take(wanted(history, options, store, now));
    if (ended.empty()) return std::string();
    return options.json ? history_json(ended, {}) : attempts_text(ended, out.look());
  };
  return watch_news(kInterval, news, runtime, out);
}

}  // namespace

int history_command(const Options& options, const Runtime& runtime, Output& out) {
  heed_children();
  const WallTime now = runtime.clock.wall();
  const auto history = read_history(options.events, now, options.follow ? Pipes::kRefused : Pipes::kRead);
  if (!history) return fail(runtime.log, history.error());
  const auto store = wanted_store(options, runtime);
  if (!store) return fail(runtime.log, store.error());
  tell_flaws(*history, options, runtime.log);
  std::vector<Episode> episodes = wanted(*history, options, *store, now);
  News told(episodes);
  if (options.last > 0 && episodes.size() > static_cast<std::size_t>(options.last)) {
    episodes.erase(episodes.begin(), episodes.end() - options.last);
  }
  const int printed = print(out, runtime.log, rendered(episodes, options, now, out.look()));
  return printed != 0 || !options.follow ? printed : follow(std::move(told), options, *store, runtime, out);
}

}  // namespace dlock
