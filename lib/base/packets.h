// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "lib/base/unique_fd.h"

namespace dlock {

/// recv(2) of one packet, without waiting. A peer that ended with messages unread leaves an error (ECONNRESET) before
/// its last words; these are read all the same. 0: it is gone. -1: nothing was read, see errno; EMSGSIZE: it was longer
/// than `packet`, and is lost. A descriptor that came with it is put into `passed`, or closed.
ssize_t receive_packet(int socket, std::span<char> packet, UniqueFd* passed = nullptr);

/// send(2) of one packet, without waiting, with `descriptor` unless it is -1. -1: not sent, see errno.
ssize_t send_packet(int socket, std::string_view packet, int descriptor = -1);

}  // namespace dlock
