// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/bench.h"

#include <algorithm>

#include "cmd/show/exit_status.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

std::string bench_text(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended, const Look& look) {
  const auto headline = [&](const std::string& text) { return painted(text, Paint::kBold, look.colour) + '\n'; };
  std::string text =
      headline("lock + unlock, one process: " + std::to_string(per_second(alone.round.count(), alone.took)) +
               " a second in " + store);
  text += "  " + percentile_text(alone.round) + '\n';
  text += headline("hand-over, " + std::to_string(plan.processes) +
                   " processes: " + std::to_string(per_second(contended.rounds, contended.took)) + " locks a second");
  text += "  " + percentile_text(contended.hand_over) + '\n';
  text += "  each process got it " + std::to_string(contended.fewest) + " to " + std::to_string(contended.most) +
          " times\n";
  return text;
}

std::string bench_json(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended) {
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.bench/2").key("store").text(store);
  json.key("alone").begin_object().key("took_ms").ms(alone.took);
  json.key("locks_per_second").number(per_second(alone.round.count(), alone.took)).key("lock_unlock");
  put_latencies(json, alone.round);
  json.end_object().key("contended").begin_object().key("processes").number(plan.processes);
  json.key("took_ms").ms(contended.took).key("locks_per_second").number(per_second(contended.rounds, contended.took));
  json.key("fewest").number(static_cast<std::int64_t>(contended.fewest));
  json.key("most").number(static_cast<std::int64_t>(contended.most)).key("hand_over");
  put_latencies(json, contended.hand_over);
  return json.end_object().end_object().line();
}

int bench_command(const Options& options, const BenchStore& store, const Runtime& runtime, Output& out) {
  heed_children();
  // One name for all: a store that keeps something for each name it has ever seen keeps one thing.
  auto key = LockName::parse("dlock.bench");
  if (!key) return fail(runtime.log, key.error());
  BenchPlan plan{.key = std::move(*key)};
  if (options.processes > 0) plan.processes = options.processes;
  if (options.count > 0) plan.rounds = static_cast<std::size_t>(options.count);
  const auto alone = bench_alone(store.take, runtime, plan);
  if (!alone) return fail(runtime.log, alone.error());
  const auto contended = bench_contended(store.take, runtime.log, plan);
  if (!contended) return fail(runtime.log, contended.error());
  return print(out, runtime.log,
               options.json ? bench_json(store.name, plan, *alone, *contended)
                            : bench_text(store.name, plan, *alone, *contended, out.look()));
}

}  // namespace dlock
