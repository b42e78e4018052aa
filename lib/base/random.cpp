// SPDX-License-Identifier: Apache-2.0
#include "lib/base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

/// Without them two holders could get the same owner.
[[noreturn]] void end_without_random(int error) {
  const std::string text =
      "dlock: cannot make the name of an owner: the system gives no random numbers: getrandom: " + errno_text(error) +
      "\n  allow getrandom(2) in the seccomp filter of the container or service\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
  _exit(71);
}

void fill(void* bytes, std::size_t size) {
  for (std::size_t have = 0; have < size;) {
    const ssize_t n = getrandom(static_cast<char*>(bytes) + have, size - have, 0);
    if (n > 0) have += static_cast<std::size_t>(n);
    else if (errno != EINTR) end_without_random(errno);
  }
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  fill(raw.data(), bytes);
  return hex(raw);
}

std::uint64_t random_below(std::uint64_t end) {
  std::uint64_t number = 0;
  fill(&number, sizeof number);
  return number % end;
}

std::uint64_t spread_below(std::uint64_t end) {
  thread_local std::uint64_t number = random_below(std::uint64_t{1} << 63);
  number = number * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX: its upper half is the better one
  return (number >> 33) % end;
}

Duration jitter(Duration most) {
  if (most <= Duration(0)) return Duration(0);
  return Duration(static_cast<Duration::rep>(random_below(static_cast<std::uint64_t>(most.count()))));
}

}  // namespace dlock
