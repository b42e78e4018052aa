// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/ping.h"

#include <cstdio>

#include "cmd/show/exit_status.h"
#include "lib/base/json_writer.h"

namespace dlock {

int ping_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto took = backend.ping();
  if (!took) return fail(runtime.log, took.error());
  if (options.json) {
    JsonWriter json;
    json.begin_object().key("schema").text("dlock.ping/2").key("store").text(backend.store());
    json.key("round_trip_ms").ms(*took).end_object();
    return print(out, runtime.log, json.line());
  }
  char ms[40];
  std::snprintf(ms, sizeof ms, "%.2f ms", std::chrono::duration<double, std::milli>(*took).count());
  return print(out, runtime.log, "dlock: " + backend.store() + " answered in " + ms + '\n');
}

}  // namespace dlock
