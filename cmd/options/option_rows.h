// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/option_table.h"

namespace dlock::rows {

// The commands that share options.

inline constexpr CommandSet kForRun = bit(Command::kRun);
inline constexpr CommandSet kHold = bit(Command::kHold);
inline constexpr CommandSet kAcquire = bit(Command::kAcquire);
inline constexpr CommandSet kTakers = kForRun | kHold | kAcquire;
inline constexpr CommandSet kWaiters = kTakers | bit(Command::kWait);
inline constexpr CommandSet kRevoke = bit(Command::kRevoke);
inline constexpr CommandSet kFence = bit(Command::kFence);
inline constexpr CommandSet kStock = bit(Command::kStock);
inline constexpr CommandSet kVerify = bit(Command::kVerify);
inline constexpr CommandSet kHistory = bit(Command::kHistory);
inline constexpr CommandSet kMetrics = bit(Command::kMetrics);
inline constexpr CommandSet kPrinters = kHold | kAcquire | kFence | kRevoke | bit(Command::kRenew) |
                                        bit(Command::kRelease) | bit(Command::kInspect) | bit(Command::kForceRelease) |
                                        bit(Command::kCheck) | bit(Command::kGc) | bit(Command::kDoctor) |
                                        bit(Command::kPing) | bit(Command::kBench) | bit(Command::kConfig) |
                                        bit(Command::kSetup) | bit(Command::kVersion) | kStock | kVerify | kHistory;
inline constexpr CommandSet kConnecting =
    kEveryCommand & ~(kVerify | kHistory | bit(Command::kConfig) | bit(Command::kCompletion) | bit(Command::kHelp) |
                      bit(Command::kVersion));

}  // namespace dlock::rows
