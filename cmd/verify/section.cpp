// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/section.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "cmd/options/environment.h"
#include "cmd/show/exit_status.h"
#include "cmd/verify/history.h"
#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/unique_fd.h"
#include "lib/config/duration_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTickEvery = 10ms;

std::string or_dash(std::optional<std::string> value) { return value && !value->empty() ? *value : "-"; }

/// Waits until `tick`. True: it was asked to end meanwhile, which only a blocked SIGTERM lets it hear.
bool is_asked_to_end(Clock& clock, TimePoint tick) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  for (TimePoint now = clock.now(); now < tick; now = clock.now()) {
    const timespec rest{.tv_sec = 0, .tv_nsec = (tick - now).count()};
    if (sigtimedwait(&term, nullptr, &rest) == SIGTERM) return true;
  }
  return false;
}

void go_on_when_asked_to_end() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
}

}  // namespace

int section_command(const std::vector<std::string>& words, char** environment) {
  const bool stubborn = words.size() == 4 && words[3] == "stubborn";
  if (words.size() != 3 && !stubborn) return exit_status(ErrorCode::kInvalid);
  if (stubborn) go_on_when_asked_to_end();
  const UniqueFd history(open(words[0].c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  SystemClock clock;
  const auto write = [&](Act::What what, std::string text = {}) {
    return write_all(history.get(), act_line({clock.now(), words[1], what, std::move(text)}));
  };
  const Environment given = read_environment(environment);
  const auto hold = parse_duration(words[2]);
  if (!hold) return exit_status(ErrorCode::kInvalid);
  const TimePoint end = clock.now() + *hold;
  if (!write(Act::What::kBegin, or_dash(given.find("DLOCK_TOKEN")) + ' ' + or_dash(given.find("DLOCK_SLOT")))) {
    return kHistoryFull;
  }
  while (clock.now() < end) {
    const bool asked = is_asked_to_end(clock, std::min(end, clock.now() + kTickEvery));
    if (clock.now() < end && !write(asked ? Act::What::kTerm : Act::What::kTick)) return kHistoryFull;
  }
  return write(Act::What::kEnd) ? 0 : kHistoryFull;
}

}  // namespace dlock
