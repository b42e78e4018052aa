// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.h"
#include "lib/base/json_writer.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"

namespace dlock {

enum class Mode { kExclusive, kShared, kPermits };

/// "exclusive", "shared", "permits".
const char* mode_name(Mode mode);
/// "x", "s" or "p": as stores keep it.
const char* mode_letter(Mode mode);

/// Effect of a waiter on others of the same lock (`run --replace`, `run --newest`).
enum class Supersedes {
  kNothing,
  kReplace,  ///< the holders are asked to end; earlier waiters of this kind give way
  kNewest,   ///< earlier waiters of this kind give way
};

/// State of a holder, as far as any decision depends on it.
enum class Standing {
  kRegular,          ///< holds, or waits, as the store says
  kEndless,          ///< its lease has no end, although no process is known to keep it
  kMinority,         ///< fewer servers than a majority have it
  kLeaseOver,        ///< its lease is over; the lock was not taken since
  kDelayAfterLease,  ///< the same, and the lock-delay keeps others out
  kDelayAfterForce,  ///< no holder: the lock-delay after a force-release
  kForeignData,      ///< no holder: the data there is not a lock of a known kind, `note` describes it
  kUnheard,  ///< waits, as another client's: whether it lives is not known before `until`, when it is passed over
};
/// Whether a holder of this standing has the lock now: its token is good.
bool is_hold(Standing standing);
/// Nobody has it, and a lock-delay keeps others out, until Participant::until.
bool is_delay(Standing standing);

// What bounds a number that was read.
constexpr Mode last_of(Mode) { return Mode::kPermits; }
constexpr Supersedes last_of(Supersedes) { return Supersedes::kNewest; }
constexpr Standing last_of(Standing) { return Standing::kUnheard; }

/// A holder or waiter, as the store reports it: for showing to people. Any field may be empty when the backend cannot
/// know it.
struct Participant {
  std::string owner;
  std::string host;
  std::int64_t pid = 0;  ///< of its dlock
  std::string user;
  std::string reason;
  Mode mode = Mode::kExclusive;
  FencingToken token;             ///< of a holder; a waiter has none (0)
  int count = 1;                  ///< how often it has been entered (re-entry)
  std::optional<WallTime> since;  ///< holding, or waiting, since
  std::optional<WallTime> until;  ///< the lease ends by itself; nullopt: only with its holder
  Duration at_least{0};           ///< kept this long from `since` on, though its command may have ended (--at-least)
  bool lease = false;             ///< a lease of `dlock acquire`; `pid` is the living process of --watch-pid, or 0
  Standing standing = Standing::kRegular;
  std::string note;          ///< further facts: "stopped", "flock(2) by another program"; only shown
  std::string slot = {};     ///< of a holder of a permit (slots.h); empty: it has none
  std::string command = {};  ///< the name of what runs, or would run, under the lock; empty: nothing does
  std::string stored = {};   ///< the owner as the store has it, where that is no text for people; empty: `owner`
  Supersedes supersedes = Supersedes::kNothing;  ///< of a waiter
  std::string revoked = {};                      ///< of a holder that was asked to end: by whom, and why
  std::string ran = {};  ///< of a holder whose command has ended (--at-least): how, "status 0"; empty: it runs, if any
  std::int64_t command_pid = 0;          ///< the process of `command`, where it was found on this machine; 0: not known
  bool stopped = false;                  ///< that process is (SIGSTOP)
  Duration ttl{0};                       ///< of the lease that a run renews; 0: not known
  std::optional<WallTime> renewed = {};  ///< that lease, for the last time
};

/// See lib/base/fields.h.
template <MaybeConst<Participant> Any, typename Visitor>
void visit_fields(Any& participant, Visitor& visit) {
  visit("owner", participant.owner);
  visit("host", participant.host);
  visit("command_pid", participant.command_pid);
  visit("pid", participant.pid);
  visit.rare("stopped", participant.stopped);
  visit.rare("lease", participant.lease);
  visit("user", participant.user);
  visit("reason", participant.reason);
  visit("token", participant.token);
  visit("command", participant.command);
  visit.rare("slot", participant.slot);
  visit("count", participant.count);
  visit("since", participant.since);
  visit("until", participant.until);
  visit.rare("renewed", participant.renewed);
  visit.rare("at_least", participant.at_least);
  visit.rare("ran", participant.ran);
  visit("mode", participant.mode);
  visit.unshown("ttl", participant.ttl);
  visit.unshown("note", participant.note);
  visit.unshown("standing", participant.standing);
  visit.unshown("stored", participant.stored);
  visit.unshown("supersedes", participant.supersedes);
  visit.unshown("revoked", participant.revoked);
}

/// The process that stands beside the command's name wherever people read it: the command's, else that of its dlock.
std::int64_t shown_pid(const Participant& participant);
/// The same of a later look: the processes of the commands of those who are in `before`, too.
void keep_commands(std::vector<Participant>& holders, const std::vector<Participant>& before);

/// The reason of a loss by force-release. `by`: who and why; empty: not known.
std::string forced_by(const std::string& by);
/// The same of a loss by `dlock revoke` or `run --replace`: "revoked by deploy@ci-4: release 2.5", "replaced by ...".
std::string revoked_by(const std::string& by);
inline constexpr char kReplacement = '>';  ///< before the text of who_replaces()

/// Makes `participant` the holder of a lease of `dlock acquire`: its pid becomes `left_to`, the process of --watch-pid
/// or 0, because the process that took the lease has ended.
void mark_lease(Participant& participant, std::int64_t left_to);

/// The end of --at-least; nullopt: it has none, or it is over.
std::optional<WallTime> kept_until(const Participant& participant, WallTime now);

/// Participant::ran of a command whose dlock was killed.
inline constexpr char kEndedWithDlock[] = "ended with dlock";

/// Whether no command of dlock's runs under the hold of `participant`: a lease, as far as the store knows.
bool runs_nothing(const Participant& participant);

/// "deploy@ci-4 (deploy.sh, pid 8812)": user, host, command and process, of which each may be unknown; "somebody" if
/// all are. Never empty, safe to print.
std::string participant_text(const Participant& participant);

/// The note and the standing, in words; empty if there is nothing to say.
std::string note_text(const Participant& participant);

/// Writes what visit_fields() names as members of a JSON object. The name of a duration gets "_ms"; what is not known
/// is null.
class JsonFields {
 public:
  explicit JsonFields(JsonWriter& json) : json_(json) {}

  template <typename T>
  void operator()(const char* name, const T& value) {
    json_.field(name, value);
  }
  void operator()(const char* name, std::optional<Duration> value) { json_.field(std::string(name) + "_ms", value); }
  void operator()(const char* name, Duration value) { (*this)(name, std::optional(value)); }
  void operator()(const char* name, std::int64_t pid) { json_.key(name).number_or_null(pid > 0 ? pid : 0); }
  void operator()(const char* name, FencingToken token) {
    json_.key(name).number_or_null(static_cast<std::int64_t>(token.value()));
  }
  void operator()(const char* name, Mode mode) { json_.key(name).text(mode_name(mode)); }
  template <typename T>
  void rare(const char* name, const T& value) {
    if (value != T()) (*this)(name, value);
  }
  void rare(const char* name, const std::string& text);
  template <typename T>
  void unshown(const char* /*name*/, const T& /*value*/) {}

 private:
  JsonWriter& json_;
};

/// One holder or waiter as a JSON object: of "holders" in dlock.inspect/1, and the same everywhere else.
void put_participant(JsonWriter& json, const Participant& participant);
void put_participants(JsonWriter& json, const char* name, const std::vector<Participant>& participants);

/// How many waiters of a lock a store lists; the others it counts.
inline constexpr std::size_t kMostListed = 1000;

/// The state of one lock as the store reported it. It may have changed since.
struct LockState {
  LockName name;
  std::string store;  ///< redacted URL
  Mode mode = Mode::kExclusive;
  int permits = 0;  ///< how many may hold it together; only with Mode::kPermits
  std::vector<Participant> holders;
  std::vector<Participant> waiters;  ///< first come first
  std::size_t more_holders = 0;      ///< how many are not listed, because the list would be too long
  std::size_t more_waiters = 0;      ///< the same for waiters; they queue after the listed ones
  std::size_t place = 0;             ///< ours among all waiters, from 1; 0: not known, or we are listed
  /// False: the store keeps no queue, and whoever waits asks it again and again.
  bool waiters_known = true;
  /// Whether the store knows this name from any hold, now or before; nullopt: it does not remember past ones.
  std::optional<bool> ever_taken = {};
  bool forgets = false;  ///< the store forgets past holds after some time
  /// Of a wait that was given up for a later one: whose that is, and what for.
  std::string superseded_by = {};
  std::vector<Participant> remembered = {};  ///< the slots that have run (--once), each with its name and when and how
  /// The only user of this store, if that is another one than ours.
  std::string directory_of = {};
};

/// The kind of data in the place of a lock, in words ("a list"); empty: it is a lock, or free.
std::string foreign_data(const LockState& state);

/// Those at the front of the queue whose store does not know whether they live.
std::vector<Participant> unheard(const LockState& state);

/// Lists `waiters`, or as many of them as are listed.
void list_waiters(LockState& state, std::vector<Participant> waiters);

/// Moves the times in `state`, read at `theirs` on the clock of the store, to our clock, which stood at `asked` before
/// and at `answered` after that. Clocks that differ by less than a second are one; else by whole seconds, so that a
/// time stays the same from one look to the next. Gives back by how much.
std::chrono::seconds move_to_our_clock(LockState& state, WallTime theirs, WallTime asked, WallTime answered);

}  // namespace dlock
