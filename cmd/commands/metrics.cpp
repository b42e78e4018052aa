// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/metrics.h"

#include <fnmatch.h>

#include <algorithm>

#include "cmd/show/exit_status.h"
#include "cmd/show/metrics_text.h"
#include "lib/history/event_source.h"

namespace dlock {
namespace {

std::vector<Episode> read_past(const Options& options, const Runtime& runtime, WallTime now) {
  if (options.events.kind == EventPlace::Kind::kOff) return {};
  History history;
  const auto read = read_events(options.events, [&](std::string_view line) { history.add_line(line); });
  if (!read) runtime.log.warn(read.error().message + "; only what is held now is told");
  history.finish(now);
  return history.episodes();
}

}  // namespace

int metrics_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  auto live = backend.inspect_all();
  if (!live) return fail(runtime.log, live.error());
  const WallTime now = runtime.clock.wall();
  Measured measured{backend.store(), std::move(*live), read_past(options, runtime, now), now};
  const auto unwanted = [&](const std::string& key) {
    return !options.match.empty() && fnmatch(options.match.c_str(), key.c_str(), 0) != 0;
  };
  std::erase_if(measured.live.locks, [&](const LockState& one) { return unwanted(one.name.text()); });
  std::erase_if(measured.past, [&](const Episode& one) { return one.store != measured.store || unwanted(one.key); });
  return print(out, runtime.log, metrics_text(measured));
}

}  // namespace dlock
