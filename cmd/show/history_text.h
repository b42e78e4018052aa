// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/show/output.h"
#include "lib/base/json_writer.h"
#include "lib/history/history.h"
#include "lib/history/timeline.h"

namespace dlock {

/// How an attempt ended, in a few words: "ok", "exit 3", "LOST: force-released by ops@ci-4; KILL", "busy: held by ...".
/// Safe to print, of any length.
std::string outcome_text(const Episode& episode);

/// For people: a line for each attempt, without headings.
std::string attempts_text(const std::vector<Episode>& episodes, const Look& look);

/// For people: a line for each attempt, then the totals of each lock. No line is wider than the terminal; times are
/// those of this machine's zone.
std::string history_text(const std::vector<Episode>& episodes, const AllTotals& totals, const Look& look);

/// A dlock.history/1 object.
void put_episode(JsonWriter& json, const Episode& episode);

/// The same as JSON, one object a line: dlock.history/1 for each attempt, dlock.history.key/1 for each lock.
std::string history_json(const std::vector<Episode>& episodes, const AllTotals& totals);

/// The attempts as a picture: a heading for each key, a lane for each holder. What has no known end is drawn to `now`;
/// nothing before `from` and after `to` is drawn.
Timeline history_picture(const std::vector<Episode>& episodes, WallTime now, std::optional<WallTime> from,
                         std::optional<WallTime> to);

}  // namespace dlock
