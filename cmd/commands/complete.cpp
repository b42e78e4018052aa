// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/options/completion.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds kLimit = 300ms;

}  // namespace

int print_completion(const Options& options, const std::vector<std::string>& names, const Runtime& runtime,
                     Output& out) {
  Completion found = complete_words({options.words.begin(), options.words.end()});
  for (const std::string& name : names) {
    const bool plain = shell_word(name) == name && !name.starts_with('-');
    if (plain && name.starts_with(found.typed)) found.lines += found.before + name + '\n';
  }
  return print(out, runtime.log, found.lines);
}

/// A timer goes on through execv(2), the handler does not: whatever this process becomes comes by here.
void set_completion_deadline() {
  struct sigaction give_up {};
  give_up.sa_handler = [](int) { _exit(0); };
  sigaction(SIGALRM, &give_up, nullptr);
  itimerval left{};
  getitimer(ITIMER_REAL, &left);
  if (left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0) return;
  left.it_value.tv_usec = kLimit.count();
  setitimer(ITIMER_REAL, &left, nullptr);
}

int complete_keys(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  std::vector<std::string> names;
  if (const auto live = backend.inspect_all()) {
    for (const LockState& state : live->locks) names.push_back(state.name.text());
  }
  return print_completion(options, names, runtime, out);
}

int complete_stocks(const Options& options, Stock& stock, const Runtime& runtime, Output& out) {
  std::vector<std::string> texts;
  if (const auto names = stock.names(CallLimit{runtime.clock.now() + kLimit})) {
    for (const LockName& name : *names) texts.push_back(name.text());
  }
  return print_completion(options, texts, runtime, out);
}

}  // namespace dlock
