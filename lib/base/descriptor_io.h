// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace dlock {

// Parts of read(2) and write(2) that are left to their callers.

/// read(2), but waits for data even on a descriptor with O_NONBLOCK, and repeats after a signal.
ssize_t read_waiting(int fd, char* buffer, std::size_t size);

/// Everything that can be read until the end, or until reading fails.
std::string read_to_end(int fd);

/// For a descriptor with O_NONBLOCK on which read(2) has returned 0: whether it is a pipe that no process has opened
/// for writing yet. False if a writer has come and gone.
bool is_never_written(int fd);

/// Writes all of `text`, retrying short and interrupted writes. False, with errno set, if the descriptor does not take
/// it.
bool write_all(int fd, std::string_view text);

/// The same for text that may be lost, and must neither end nor hold up the holder of a lock: no SIGPIPE or SIGXFSZ
/// comes of it, and a full pipe without a reader, or a terminal stopped by ^S, gets half a second to take it, and
/// after a failure no time until it takes text again. False with errno EAGAIN: given up. Only one thread may call it.
bool write_in_time(int fd, std::string_view text);

}  // namespace dlock
