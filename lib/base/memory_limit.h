// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>

namespace dlock {

/// Limits the address space of this process (RLIMIT_AS, the soft limit) to `bytes`: a server that sends without end
/// ends this process with std::bad_alloc, and does not take the memory of the machine. A smaller limit stays as it is.
/// Programs that are executed afterwards inherit it: see lift_memory_limit().
void limit_memory(std::size_t bytes);

/// Undoes limit_memory(), for a command of the user that takes this process's place. Nothing if there is no limit.
void lift_memory_limit();

/// How many bytes of address space this process, and what it executes, may use (RLIMIT_AS); none if any number.
std::optional<std::size_t> allowed_memory();

/// "272 MiB", rounded down.
std::string mebibytes(std::size_t bytes);

/// Why this process cannot go on: "out of memory: it may use 272 MiB", or what the exception says.
std::string failure_text(const std::exception& failure);

}  // namespace dlock
