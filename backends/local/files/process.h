// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>

#include "lib/base/unique_fd.h"

namespace dlock::local {

/// Of this process. Asked of the kernel only once, and again in a child that fork(2) has made; REQUIRES: not called in
/// one of vfork(2) or clone(2).
pid_t own_pid();

/// Reaps a child if it has ended; whoever reaped it before us is fine too. `block`: waits for its end.
void reap(const UniqueFd& process, bool block);

/// Closes every descriptor except these. Async-signal-safe.
void close_all_but(std::initializer_list<int> keep);

/// In a child that was just forked by `parent`: dies with it. False if the parent is gone already.
bool die_with(pid_t parent);

/// Writes one byte, whatever signals come. Async-signal-safe.
void write_byte(int fd, unsigned char byte);

/// The inode number of our pid namespace: a pid means something only within one. 0 if /proc is missing.
std::uint64_t pid_namespace();

}  // namespace dlock::local
