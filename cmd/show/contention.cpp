// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/contention.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

constexpr std::size_t kNamed = 3;  ///< holders that are named; the others are counted

/// Tenths of a second, where there are any.
std::string in_tenths(Duration length) {
  const auto tenths = std::chrono::floor<std::chrono::duration<std::int64_t, std::deci>>(length).count();
  if (tenths % 10 != 0) return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
  return human_duration(std::chrono::floor<std::chrono::seconds>(length));
}

bool is_short(Duration length) { return length < std::chrono::seconds(10); }

std::string waited_text(Duration waited) {
  return is_short(waited) && waited >= std::chrono::seconds(1) ? in_tenths(waited) : human_duration(waited);
}

std::string holder_sentence(const Participant& holder, WallTime now) {
  std::string text = participant_text(holder);
  if (holder.since) {
    const std::string length = human_duration(age(*holder.since, now));
    text += holder.ran.empty() ? " for " + length : ", which ran " + length + " ago";
  }
  if (!holder.reason.empty()) text += " (" + reason_text(holder) + ")";
  const std::string left = holder.until && *holder.until > now ? human_duration(*holder.until - now) : "";
  if (!left.empty() && !is_delay(holder.standing)) text += ", lease ends in " + left;
  if (const std::string note = note_text(holder); !note.empty()) text += ", " + printable(note);
  if (!left.empty() && is_delay(holder.standing)) text += " for " + left + " more";
  return text;
}

/// "A", "A and B", "A; B; C and 4 more". Semicolons, because what is said of one holder has commas of its own.
std::string holders_sentence(const std::vector<Participant>& holders, std::size_t more, WallTime now) {
  std::string text;
  const std::size_t named = std::min(holders.size(), kNamed);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == holders.size() + more ? " and " : "; ";
    text += holder_sentence(holders[i], now);
  }
  more += holders.size() - named;
  if (more > 0) text += " and " + std::to_string(more) + " more";
  return text;
}

std::string who_holds(const LockName& name, const std::optional<LockState>& state, WallTime now) {
  if (!state || (state->holders.empty() && state->waiters.empty())) return name.text() + " is already held";
  if (state->holders.empty()) {
    return name.text() + " is about to go to " + participant_text(state->waiters.front()) + ", first in the queue";
  }
  const Participant& first = state->holders.front();
  const bool unknown = first.owner.empty() || first.standing == Standing::kDelayAfterForce;
  if (state->holders.size() + state->more_holders == 1 && is_delay(first.standing) && unknown) {
    return name.text() + " has no holder, and its lock-delay keeps others out" +
           (first.until && *first.until > now ? " for " + human_duration(*first.until - now) : "");
  }
  const std::string holders = holders_sentence(state->holders, state->more_holders, now);
  switch (state->mode) {
    case Mode::kExclusive:
      return name.text() + (first.ran.empty() ? " is held by " : " is kept by ") + holders;
    case Mode::kShared:
      return name.text() + " is held (shared) by " + holders;
    case Mode::kPermits:
      if (state->permits == 0) return name.text() + " is held by " + holders;
      return name.text() + " has " + std::to_string(state->holders.size() + state->more_holders) + " of " +
             std::to_string(state->permits) + " permits held, by " + holders;
  }
  return name.text();
}

/// Does one of them hold it for ever, as far as is known?
bool is_endless(const std::optional<LockState>& state) {
  if (!state) return false;
  return std::any_of(state->holders.begin(), state->holders.end(),
                     [](const Participant& one) { return one.standing == Standing::kEndless; });
}

/// The next round length of time that is at least ten times longer than what was not enough.
const char* longer_wait(std::optional<Duration> waited) {
  using namespace std::chrono_literals;
  struct Step {
    Duration length;
    const char* text;
  };
  constexpr Step kSteps[] = {{10s, "10s"},   {30s, "30s"},   {1min, "1m"}, {5min, "5m"},
                             {10min, "10m"}, {30min, "30m"}, {1h, "1h"},   {6h, "6h"}};
  if (!waited) return "30s";
  // A wait of 30 s is measured as 30.0001 s: what was asked for is meant.
  const Duration wanted = std::chrono::floor<std::chrono::seconds>(*waited) * 10;
  const auto* step =
      std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& s) { return s.length >= wanted; });
  return step == std::end(kSteps) ? "1d" : step->text;
}

/// "next in line", "2nd in line"; how many wait if it is not known which of them we are, and nothing if no one else is
/// known to.
std::string place_in_line(const LockState& state, const Self& self) {
  const auto own = std::find_if(state.waiters.begin(), state.waiters.end(), [&](const Participant& waiter) {
    return waiter.pid == self.pid && waiter.host == self.host;
  });
  const std::size_t waiters = state.waiters.size() + state.more_waiters;
  if (own == state.waiters.end() && state.place == 0) return waiters > 1 ? std::to_string(waiters) + " in line" : "";
  const std::size_t place = state.place > 0 ? state.place : std::distance(state.waiters.begin(), own) + 1;
  if (place == 1) return "next in line";
  const bool is_teen = place % 100 / 10 == 1;
  const char* ending = is_teen || place % 10 > 3 || place % 10 == 0 ? "th"
                       : place % 10 == 1                            ? "st"
                       : place % 10 == 2                            ? "nd"
                                                                    : "rd";
  return std::to_string(place) + ending + " in line";
}

}  // namespace

Error busy_error(const LockName& name, const std::optional<LockState>& state, std::optional<Duration> waited,
                 WallTime now) {
  if (state && !state->superseded_by.empty()) {
    return {ErrorCode::kBusy, name.text() + " is superseded by " + state->superseded_by,
            "nothing was run; see the queue: dlock inspect " + name.typed()};
  }
  Error error{ErrorCode::kBusy, who_holds(name, state, now)};
  const std::size_t waiters = state && !state->holders.empty() ? state->waiters.size() + state->more_waiters : 0;
  if (waiters > 0) error.message += "; " + std::to_string(waiters) + (waiters == 1 ? " other waits" : " others wait");
  if (waited) error.message += "; gave up after " + waited_text(*waited);
  if (is_endless(state)) {
    error.next = "it never ends by itself; if its holder is gone: dlock force-release " + name.typed();
    return error;
  }
  error.next = std::string(waited ? "wait longer" : "wait for it") + " with --wait " + longer_wait(waited) +
               ", or see the queue: dlock inspect " + name.typed();
  return error;
}

std::optional<Error> long_hold_error(const LockState& state, Duration limit, WallTime now) {
  const Participant* oldest = nullptr;
  for (const Participant& holder : state.holders) {
    if (holder.since && (oldest == nullptr || *holder.since < *oldest->since)) oldest = &holder;
  }
  if (oldest == nullptr || age(*oldest->since, now) < limit) return std::nullopt;
  Error error{ErrorCode::kBusy, state.name.text() + " is held by " + holder_sentence(*oldest, now)};
  error.message += "; that is longer than " + human_duration(limit) + " (--warn-held)";
  const std::size_t others = state.holders.size() - 1 + state.more_holders;
  if (others > 0)
    error.message += "; " + std::to_string(others) + (others == 1 ? " other holds" : " others hold") + " it too";
  const std::string key = state.name.typed();
  error.next = "look at it: dlock inspect " + key + "; if it is stuck: dlock force-release " + key;
  return error;
}

Log::About about_holder(const char* event, const LockState& state) {
  Log::About about{event, state.name.text()};
  if (state.holders.empty()) return about;
  JsonWriter json;
  put_participant(json, state.holders.front());
  about.holder = json.str();
  return about;
}

Self this_process() {
  utsname name{};
  uname(&name);
  return {name.nodename, getpid()};
}

std::string own_wait_text(const OwnWait& wait) {
  const auto text = [&](Duration length) {
    if (wait.limit && is_short(*wait.limit)) return in_tenths(length);
    return human_duration(std::chrono::floor<std::chrono::seconds>(length));
  };
  return text(wait.so_far) + (wait.limit ? " of " + text(*wait.limit) : "");
}

std::string progress_line(const LockState& state, const Self& self, const OwnWait& wait, WallTime now,
                          const std::string& lead) {
  const std::string place = place_in_line(state, self);
  std::string line = lead.empty() ? (place.empty() ? "waiting" : place) : lead + (place.empty() ? "" : ": " + place);
  line += ", " + own_wait_text(wait);
  if (state.holders.empty()) return line;
  const Participant& first = state.holders.front();
  const std::string who = lead.empty() ? short_participant_text(first) : participant_text(first);
  line += (first.ran.empty() ? " - held by " : " - kept by ") + who;
  if (first.since) line += " for " + human_duration(age(*first.since, now));
  const std::size_t others = state.holders.size() - 1 + state.more_holders;
  if (others > 0) line += " and " + std::to_string(others) + " more";
  if (!first.reason.empty()) line += ": " + reason_text(first);
  return line;
}

}  // namespace dlock
