// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/standing_leases.h"

#include "backends/zookeeper/session/errors.h"
#include "lib/base/random.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kForgedAgain = 1min;  ///< at what is no lease, although it has the name of one
constexpr std::uint64_t kPauseMs = 40;   ///< at most, after another has written what we wanted to

WallTime time_of(std::int64_t stamp) { return WallTime(std::chrono::milliseconds(stamp)); }

std::chrono::microseconds whole(Duration time) { return std::chrono::ceil<std::chrono::microseconds>(time); }

Error gone(const Calls& calls) { return {ErrorCode::kLost, "the lease is over on " + calls.store()}; }

/// A lease as it was read.
struct Seen {
  std::string path;
  NodeStat stat;
  HolderRecord record;
};

/// nullopt: the node is gone, or no lease of `owner`.
Result<std::optional<Seen>> read(Calls& calls, const std::string& path, const Owner& owner, TimePoint until) {
  TRY_ASSIGN(auto node, calls.call_until(ask_data(path), until, nullptr));
  auto lease = node.code == Code::kOk ? lease_in(node.stat, node.data) : std::nullopt;
  if (!lease || lease->owner != owner.text()) return std::optional<Seen>();
  return std::optional(Seen{path, node.stat, std::move(*lease)});
}

/// Writes `data` at the version of `stat`, which becomes that of the write. False: it has another version by now, or is
/// gone.
Result<bool> write(Calls& calls, const std::string& path, NodeStat& stat, const std::string& data, TimePoint until,
                   Control* control) {
  TRY_ASSIGN(const auto written, calls.call(ask_change({set_node(path, data, stat.version)}), until, control));
  if (written.code == Code::kBadVersion || written.code == Code::kNoNode) return false;
  if (written.code != Code::kOk) return unexpected(written.code, calls.store(), "does not change " + path);
  stat.version = written.changed.front().stat.version;
  stat.mtime = written.changed.front().stat.mtime;
  return true;
}

/// At the version of `stat`. False as above.
Result<bool> remove(Calls& calls, const std::string& path, const NodeStat& stat, TimePoint until, Control* control) {
  TRY_ASSIGN(const auto removed, calls.call(ask_change({delete_node(path, stat.version)}), until, control));
  if (removed.code == Code::kOk) return true;
  if (removed.code == Code::kBadVersion || removed.code == Code::kNoNode) return false;
  return unexpected(removed.code, calls.store(), "does not remove " + path);
}

}  // namespace

std::optional<HolderRecord> lease_in(const NodeStat& stat, std::string_view data) {
  return stat.ephemeral_owner == 0 ? decode_record(data) : std::nullopt;
}

WallTime end_of(const HolderRecord& lease, const NodeStat& stat) { return time_of(stat.ctime) + whole(lease.lasts); }

WallTime end_of_delay(const HolderRecord& lease, const NodeStat& stat) {
  return end_of(lease, stat) + whole(lease.lock_delay);
}

Result<std::optional<TimePoint>> remove_if_over(Calls& calls, const std::string& path, ServerClock& clock,
                                                TimePoint until, Control* control) {
  TRY_ASSIGN(auto node, calls.call(ask_data(path, true), until, control));
  if (node.code != Code::kOk) return std::optional<TimePoint>();
  const auto lease = lease_in(node.stat, node.data);
  if (!lease) return std::optional(calls.clock().now() + kForgedAgain);
  const WallTime opens = end_of_delay(*lease, node.stat);
  const auto in = [&](Duration time) { return std::optional(calls.clock().now() + kStampUnit + time); };
  if (const Duration left = opens - clock.now(calls, until, control); left >= Duration(0)) return in(left);
  TRY_ASSIGN(const auto stamped, write(calls, path, node.stat, node.data, until, control));
  if (stamped) clock.seen(time_of(node.stat.mtime), calls.clock());
  if (stamped && time_of(node.stat.mtime) <= opens) return in(opens - time_of(node.stat.mtime));
  const auto removed = stamped ? remove(calls, path, node.stat, until, control) : Result<bool>(false);
  if (!removed) return removed.error();
  if (*removed) return std::optional<TimePoint>();
  return in(std::chrono::milliseconds(random_below(kPauseMs)));  // another was quicker
}

Result<void> renew_lease(Calls& calls, const std::string& path, const Owner& owner, Duration ttl, TimePoint until) {
  std::optional<WallTime> end;  // of the lease before it was written that it lasts longer
  while (true) {
    TRY_ASSIGN(auto seen, read(calls, path, owner, until));
    if (!seen) return gone(calls);
    const auto is_late = [&] { return end && time_of(seen->stat.mtime) > *end; };
    const auto take_away = [&] {
      (void)remove(calls, path, seen->stat, until, nullptr);
      return gone(calls);
    };
    if (is_late()) return take_away();  // by a write of ours without an answer
    const WallTime read_end = end_of(seen->record, seen->stat);
    auto written = write(calls, path, seen->stat, encode(seen->record), until, nullptr);
    if (written && *written && time_of(seen->stat.mtime) > read_end) return gone(calls);
    if (written && *written) {
      end = read_end;
      seen->record.lasts = time_of(seen->stat.mtime) - time_of(seen->stat.ctime) + kStampUnit + ttl;
      written = write(calls, path, seen->stat, encode(seen->record), until, nullptr);
    }
    if (written && *written) return is_late() ? Result<void>(take_away()) : Result<void>();
    if (!written && written.error().code != ErrorCode::kUnavailable) return written.error();
    if (calls.clock().now() >= until) return calls.unreachable();
    calls.rest(until, nullptr);
  }
}

Result<void> release_lease(Calls& calls, const std::string& path, const Owner& owner, TimePoint until) {
  for (bool unanswered = false;; calls.rest(until, nullptr)) {
    TRY_ASSIGN(auto seen, read(calls, path, owner, until));
    if (!seen) return unanswered ? Result<void>() : gone(calls);
    const WallTime end = end_of(seen->record, seen->stat);
    auto done = write(calls, path, seen->stat, encode(seen->record), until, nullptr);
    const bool is_over = time_of(seen->stat.mtime) > end;
    if (done && *done) done = remove(calls, path, seen->stat, until, nullptr);
    if (done && *done) return is_over ? gone(calls) : Result<void>();
    if (!done && done.error().code != ErrorCode::kUnavailable) return done.error();
    if (calls.clock().now() >= until) return calls.unreachable();
    unanswered = unanswered || !done;
  }
}

}  // namespace dlock::zookeeper
