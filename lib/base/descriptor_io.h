// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// What read(2) and write(2) leave to their callers.

/// read(2), which waits also where the descriptor does not, and goes on behind a signal.
ssize_t read_waiting(int fd, char* buffer, std::size_t size);

/// What there is to be read until the end, or until reading fails.
std::string read_to_end(int fd);

/// Whether a descriptor, opened with O_NONBLOCK, at which read(2) found the end is that of a pipe that nobody has
/// opened to write yet. False if a writer has come and gone.
bool is_never_written(int fd);

/// Writes all of `text`, retrying short and interrupted writes. False, with errno set, if the descriptor does not take
/// it.
bool write_all(int fd, std::string_view text);

/// The same of what may be lost and must not hold up who holds a lock: a full pipe that nobody reads, and a terminal
/// that was stopped (^S), have half a second to take it; once that was in vain, no time until they take something
/// again. What is given up is EAGAIN. One thread alone may call it.
bool write_in_time(int fd, std::string_view text);

}  // namespace dlock
