// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace dlock {

/// read(2), which waits also where the descriptor does not, and goes on behind a signal.
ssize_t read_waiting(int fd, char* buffer, std::size_t size);

/// Whether a descriptor, opened with O_NONBLOCK, at which read(2) found the end is that of a pipe that nobody has
/// opened to write yet. False if a writer has come and gone.
bool is_never_written(int fd);

}  // namespace dlock
