// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/section.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "cmd/options/environment.h"
#include "cmd/show/exit_status.h"
#include "cmd/verify/acts.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTickEvery = 10ms;

std::string or_dash(std::optional<std::string> value) { return value && !value->empty() ? *value : "-"; }

}  // namespace

int section_command(const std::vector<std::string>& words, char** environment) {
  if (words.size() != 3) return exit_status(ErrorCode::kInvalid);
  const UniqueFd history(open(words[0].c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  SystemClock clock;
  const auto write = [&](Act::What what, std::string text) {
    return write_all(history.get(), act_line({clock.now(), words[1], what, std::move(text)}));
  };
  const Environment given = read_environment(environment);
  const TimePoint end = clock.now() + std::chrono::milliseconds(leading_number<int>(words[2]));
  if (!write(Act::What::kBegin, or_dash(given.find("DLOCK_TOKEN")) + ' ' + or_dash(given.find("DLOCK_SLOT")))) {
    return exit_status(ErrorCode::kSystem);
  }
  std::vector<pollfd> nothing;
  while (clock.now() < end) {
    const TimePoint tick = std::min(end, clock.now() + kTickEvery);
    while (clock.now() < tick) clock.wait(nothing, tick);
    if (clock.now() < end) write(Act::What::kTick, {});
  }
  return write(Act::What::kEnd, {}) ? 0 : exit_status(ErrorCode::kSystem);
}

}  // namespace dlock
