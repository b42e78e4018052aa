// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <set>

#include "cmd/commands/commands.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "lib/history/event_log.h"
#include "lib/history/history.h"

namespace dlock {
namespace {

/// How many keys have series of their own, in the order of their names; dlock_keys_left_out counts the others.
constexpr std::size_t kMostMeasuredKeys = 500;

using Seconds = std::chrono::duration<double>;

constexpr double kBuckets[] = {1, 10, 60, 600, 3600};

std::string digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string label_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') out += "\\n";
    else if (c == '"' || c == '\\') out += {'\\', c};
    else out += c;
  }
  return out + '"';
}

class Exposition {
 public:
  Exposition(std::string_view store, std::set<std::string> keys)
      : store_("store=" + label_value(store)), keys_(std::move(keys)) {}

  void begin(const std::string& name, const char* type, const char* help) {
    name_ = name;
    out_ += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }

  /// Of a key that is left out nothing is said.
  void put(const char* suffix, const std::string& key, double value, const std::string& more = {}) {
    put_text(suffix, key, digits(value), more);
  }

  /// To the second; 0 for none.
  void put_moment(const std::string& key, std::optional<WallTime> moment) {
    const auto since_epoch = moment ? moment->time_since_epoch() : WallTime::duration(0);
    put_text("", key, std::to_string(std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count()));
  }

  void put_of_store(double value) { out_ += name_ + "{" + store_ + "} " + digits(value) + '\n'; }

  void put_histogram(const std::string& key, const std::vector<Duration>& sorted) {
    for (const double edge : kBuckets) {
      const auto below = std::upper_bound(sorted.begin(), sorted.end(), edge,
                                          [](double most, Duration one) { return most < Seconds(one).count(); });
      put("_bucket", key, static_cast<double>(std::distance(sorted.begin(), below)), ",le=\"" + digits(edge) + "\"");
    }
    Duration sum{0};
    for (const Duration one : sorted) sum += one;
    put("_bucket", key, static_cast<double>(sorted.size()), ",le=\"+Inf\"");
    put("_sum", key, Seconds(sum).count());
    put("_count", key, static_cast<double>(sorted.size()));
  }

  std::string text() const { return out_ + "# EOF\n"; }

 private:
  void put_text(const char* suffix, const std::string& key, const std::string& value, const std::string& more = {}) {
    if (keys_.count(key) == 0) return;
    out_ += name_ + suffix + "{" + store_ + ",key=" + label_value(key) + more + "} " + value + '\n';
  }

  const std::string store_;
  const std::set<std::string> keys_;
  std::string name_;
  std::string out_;
};

void put_live(Exposition& out, const std::vector<LockState>& locks, WallTime now) {
  out.begin("dlock_holders", "gauge", "Current holders of this lock.");
  for (const LockState& one : locks)
    out.put("", one.name.text(), static_cast<double>(one.holders.size() + one.more_holders));
  out.begin("dlock_waiters", "gauge", "Current waiters for this lock.");
  for (const LockState& one : locks)
    out.put("", one.name.text(), static_cast<double>(one.waiters.size() + one.more_waiters));
  out.begin("dlock_oldest_hold_seconds", "gauge", "How long the oldest holder has held this lock.");
  for (const LockState& one : locks) {
    if (const auto oldest = oldest_hold(one, now)) out.put("", one.name.text(), Seconds(*oldest).count());
  }
}

void put_past(Exposition& out, const AllTotals& all) {
  const auto put_counter = [&](const char* name, const char* help, std::size_t Totals::*count) {
    out.begin(name, "counter", help);
    for (const auto& [lock, totals] : all) out.put("_total", lock.key, static_cast<double>(totals.*count));
  };
  put_counter("dlock_grants", "How often this lock was granted.", &Totals::grants);
  put_counter("dlock_busy", "How often a wait for this lock was given up.", &Totals::busy);
  put_counter("dlock_losses", "How often this lock was lost.", &Totals::lost);
  out.begin("dlock_last_loss_timestamp_seconds", "gauge",
            "When this lock was last lost; 0: never, as far as recorded.");
  for (const auto& [lock, totals] : all) out.put_moment(lock.key, totals.last_lost);
  out.begin("dlock_last_success_timestamp_seconds", "gauge",
            "When a command under this lock last ended by itself with status 0; 0: never, as far as recorded.");
  for (const auto& [lock, totals] : all) out.put_moment(lock.key, totals.last_success);
  out.begin("dlock_last_exit_code", "gauge",
            "Exit status of the last command under this lock; 128 and more: its signal.");
  for (const auto& [lock, totals] : all) {
    if (totals.last_exit) out.put("", lock.key, *totals.last_exit);
  }
  out.begin("dlock_wait_seconds", "histogram", "How long granted waits for this lock took.");
  for (const auto& [lock, totals] : all) out.put_histogram(lock.key, totals.waits);
  out.begin("dlock_hold_seconds", "histogram", "How long this lock was held.");
  for (const auto& [lock, totals] : all) out.put_histogram(lock.key, totals.holds);
}

/// OpenMetrics text, which node_exporter's textfile collector takes as well: holders, waiters and the age of the oldest
/// hold of each key of the store; grants, busy attempts, losses, waits and holds of each key that was recorded.
std::string metrics_text(const std::string& store, const LiveLocks& live, const AllTotals& past, WallTime now) {
  std::set<std::string> keys;
  for (const LockState& one : live.locks) keys.insert(one.name.text());
  for (const auto& [lock, totals] : past) keys.insert(lock.key);
  const std::size_t left_out = keys.size() - std::min(keys.size(), kMostMeasuredKeys);
  keys.erase(std::prev(keys.end(), static_cast<std::ptrdiff_t>(left_out)), keys.end());

  Exposition out(store, std::move(keys));
  put_live(out, live.locks, now);
  out.begin("dlock_unreadable_locks", "gauge", "Locks that this user may not inspect.");
  out.put_of_store(static_cast<double>(live.unreadable.size()));
  out.begin("dlock_keys_left_out", "gauge", "Keys left out because there are too many.");
  out.put_of_store(static_cast<double>(left_out));
  if (!past.empty()) put_past(out, past);
  return out.text();
}

std::vector<Episode> read_past(const Options& options, const Runtime& runtime, WallTime now) {
  if (options.events.kind == EventPlace::Kind::kOff) return {};
  const auto history = read_history(options.events, now);
  if (history) return history->episodes();
  runtime.log.warn(history.error().message + "; only what is held now is reported");
  return {};
}

}  // namespace

int metrics_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  auto live = backend.inspect_all();
  if (!live) return fail(runtime.log, live.error());
  const WallTime now = runtime.clock.wall();
  std::vector<Episode> past = read_past(options, runtime, now);
  const auto unwanted = [&](const std::string& key) {
    return !options.match.empty() && fnmatch(options.match.c_str(), key.c_str(), 0) != 0;
  };
  std::erase_if(live->locks, [&](const LockState& one) { return unwanted(one.name.text()); });
  std::erase_if(past, [&](const Episode& one) { return one.store != backend.store() || unwanted(one.key); });
  return print(out, runtime.log, metrics_text(backend.store(), *live, totals_of(past), now));
}

}  // namespace dlock
