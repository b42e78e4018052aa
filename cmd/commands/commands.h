// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"
#include "lib/stock/stock.h"

namespace dlock {

// The commands; each returns the exit status of the process. REQUIRES: options as parse_command_line() makes
// them.

// --- commands that take a lock ---

/// dlock run KEY... -- CMD, and stock run: returns the exit status for main, or dies of the signal that CMD died of.
/// `environment` is the process's own.
int run_command(const Options& options, const Runtime& runtime, char** environment);

/// dlock hold KEY: takes the lock, prints "OWNER TOKEN" on one line, keeps it until stdin ends or a signal comes,
/// releases it. 0; 79 when the lock was lost before.
int hold_command(const Options& options, const Runtime& runtime, Output& out);

/// dlock acquire KEY --ttl D [--watch-pid PID]: takes a lease that goes on without this process and prints "OWNER
/// TOKEN". If the handle cannot be printed, it releases the lock.
int acquire_command(const Options& options, const Runtime& runtime, Output& out);

/// dlock wait KEY: returns when the lock is free; takes nothing.
int wait_command(const Options& options, const Runtime& runtime);

// --- commands that ask a store ---

/// dlock renew KEY --owner H [--ttl D]: a lease of "dlock acquire" ends the ttl from now. 79 when it is not held any
/// more. Says nothing without --json.
int renew_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock release KEY --owner H: releases it. 79 when it is not held any more, which --if-held makes 0.
int release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock check KEY TOKEN: 0 if the token belongs to a present holder, 79 if not. Silent but for the error.
int check_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock fence RESOURCE TOKEN [-- CMD]: 79 if a higher token was seen for RESOURCE, else 0, or this process becomes
/// CMD, which inherits the descriptor that keeps other checks of RESOURCE out until it ends. Returns only without CMD
/// or when it cannot be run (126, 127).
int fence_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock inspect [KEY...]: holders and waiters, of all live locks without KEY. A free lock is an answer like any other:
/// 0. With --json one object a line. With --watch see watch_locks() and cmd/show/screen.h.
int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock inspect --watch on a terminal: the locks on the alternate screen, looked at again every --interval (1 s), one
/// of them with what happened to it, freed by force after the question of force-release. Keys are read from `input`
/// (-1: there is no keyboard). q and ^C leave with 0 and give the terminal back as it was. A store that does not answer
/// is shown, not fatal. Blocks INT, TERM, HUP, QUIT and WINCH while it runs.
int watch_locks(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input);

/// dlock revoke KEY: asks the holders (with --slot, that of one permit) to end what runs under the lock, and returns
/// when they have released it. A lease of `acquire`, under which nothing of dlock's runs, is released at once. 0 also
/// if it was free already, 75 if one of them holds it still when --wait is over; with --force it then loses the lock.
int revoke_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock force-release KEY: shows the holder, asks for the key to be typed (on a terminal) or wants --yes, frees
/// exactly what was shown. 0 also if it was free already, 75 if the holder is not the one of --token or another than
/// shown, 64 without a confirmation. The answer is read from `input`, the question goes where the log goes.
int force_release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out,
                          int input = 0);

/// The same where the lock is on a screen already: what is asked below it (its last line is to be completed), and what
/// an answer does. The text says what was freed, Invalid that it was the wrong answer, Busy that the holder changed.
std::string free_question(const LockState& state);
Result<std::string> free_if_confirmed(const LockState& shown, const std::string& typed, const Options& options,
                                      LockAdmin& backend, const Runtime& runtime);

/// dlock metrics: the store's locks as they are, and what was recorded (--events), as OpenMetrics text. Where nothing
/// is recorded, or cannot be read, which is a warning, the first half alone.
int metrics_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// dlock doctor: the configuration, then what the backend finds about itself, each line ok, warn or fail with its
/// remedy. 0 if nothing fails, else by the worst failure: 69 unreachable, 77 refused, 78 not fit.
int doctor_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
/// The same when the backend could not even be made: `why` is one more failure.
int doctor_without_backend(const Options& options, const Error& why, const Runtime& runtime, Output& out);
/// The settings, and their origins.
std::vector<Finding> config_findings(const Options& options);
/// 0, or the exit status of the worst failure.
int worst_status(const std::vector<Finding>& findings);

/// dlock ping: how long one acquire and release of a private lock takes.
int ping_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
/// dlock gc [--dry-run]: sweeps what dead holders left, one line for each.
int gc_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
/// dlock setup [--print]: creates what the store needs on its server.
int setup_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
/// The hidden dlock __servers: NAME PLACE, a line for each server before which verify puts its proxy.
int servers_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

// --- stocks ---

/// dlock stock ACTION on a store of this program, all but run: returns the exit status.
int stock_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out);
/// dlock stock show.
int stock_show(const Options& options, Stock& stock, const Runtime& runtime, Output& out);
/// Stocks for people: a heading each, and a line for each segment; with bars on a terminal.
std::string stock_text(const StockState& state, const Look& look);
/// dlock.stock/1, without the newline.
std::string stock_json(const StockState& state);
/// Output of take, refund and add: "SEGMENT QTY" lines.
std::string stock_parts_text(const StockParts& parts);

// --- commands without a store ---

/// dlock history: what happened to the locks that are named, or all, in the store that was typed, or all, as far as it
/// was recorded (--events). Lines of the file that are not events, and a clock that went back, is reported on stderr
/// and changes no status.
int history_command(const Options& options, const Runtime& runtime, Output& out);

/// `dlock config show` prints the merged settings; `dlock config check` says every mistake, and with --strict takes a
/// warning for one: 78, or 77 if nothing but the rights of a file is wrong.
int config_command(const Options& options, const Runtime& runtime, Output& out);

// The hidden `dlock __complete WORD...`, for the completion scripts: what may stand for the last word, one a line, as
// in Completion::lines; of live names only those that a shell takes as they are.

/// From now on this process, and whatever it becomes, ends within 300 ms: the user waits at the Tab key.
void set_completion_deadline();
/// Candidates that follow from the line alone, and of `names` those that fit.
int print_completion(const Options& options, const std::vector<std::string>& names, const Runtime& runtime,
                     Output& out);
/// The locks that are held or waited for. A store that does not answer has none.
int complete_keys(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int complete_stocks(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

}  // namespace dlock
