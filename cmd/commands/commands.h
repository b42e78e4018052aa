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

// The commands, as --help explains them; each returns the exit status of the process, of which only what is special is
// said here. REQUIRES: options as parse_command_line() makes them.

// --- commands that take a lock ---

/// dlock run, and stock run; or dies of the signal that CMD died of. `environment` is the process's own.
int run_command(const Options& options, const Runtime& runtime, char** environment);
/// 79 when the lock was lost before stdin ended.
int hold_command(const Options& options, const Runtime& runtime, Output& out);
/// If the handle cannot be printed, it releases the lock.
int acquire_command(const Options& options, const Runtime& runtime, Output& out);
/// dlock wait KEY: takes nothing.
int wait_command(const Options& options, const Runtime& runtime);

// --- commands that ask a store ---

/// 79 when the lease is not held any more; also release, unless --if-held says otherwise.
int renew_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// 0 if the token belongs to a present holder, 79 if not.
int check_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// 79 if a higher token was seen for RESOURCE, else 0, or this process becomes CMD, which inherits the descriptor that
/// keeps other checks of RESOURCE out until it ends. Returns only without CMD or when it cannot be run (126, 127).
int fence_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// A free lock is an answer like any other: 0.
int inspect_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// Returns when the holders that were asked have released the lock. 0 also if it was free already, 75 if one of them
/// holds it still when --wait is over; with --force it then loses the lock.
int revoke_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// Frees exactly what was shown. 0 also if it was free already, 75 if the holder is not the one of --token or another
/// than shown, 64 without a confirmation. The answer is read from `input`, the question goes where the log goes.
int force_release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out,
                          int input = 0);

/// Where nothing is recorded, or cannot be read, which is a warning, the live half alone.
int metrics_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// 0 if nothing fails, else by the worst failure: 69 unreachable, 77 refused, 78 not fit.
int doctor_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
/// The same when the backend could not even be made: `why` is one more failure.
int doctor_without_backend(const Options& options, const Error& why, const Runtime& runtime, Output& out);
/// The settings, and their origins.
std::vector<Finding> config_findings(const Options& options);
/// 0, or the exit status of the worst failure.
int worst_status(const std::vector<Finding>& findings);

int ping_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int gc_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int setup_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

// --- stocks ---

/// dlock stock ACTION on a store of this program, all but run.
int stock_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out);
int stock_show(const Options& options, Stock& stock, const Runtime& runtime, Output& out);
/// Stocks for people: a heading each, and a line for each segment; with bars on a terminal.
std::string stock_text(const StockState& state, const Look& look);
/// dlock.stock/1, without the newline.
std::string stock_json(const StockState& state);

// --- commands without a store ---

/// Lines of the record that are not events, and a clock that went back, are reported on stderr and change no status.
int history_command(const Options& options, const Runtime& runtime, Output& out);

/// `config check`: 78, or 77 if nothing but the rights of a file is wrong.
int config_command(const Options& options, const Runtime& runtime, Output& out);

// The hidden `dlock __complete WORD...`, for the completion scripts: what may stand for the last word, one a line, as
// in Completion::lines; of live names only those that a shell takes as they are. A store that does not answer has none.

/// From now on this process, and whatever it becomes, ends within 300 ms: the user waits at the Tab key.
void set_completion_deadline();
/// Candidates that follow from the line alone, and of `names` those that fit.
int print_completion(const Options& options, const std::vector<std::string>& names, const Runtime& runtime,
                     Output& out);
int complete_keys(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);
int complete_stocks(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

}  // namespace dlock
