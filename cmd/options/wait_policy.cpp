// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/wait_policy.h"

namespace dlock {

WaitPolicy wait_policy(const Options& options, TimePoint now) {
  WaitPolicy policy;
  // With --replace it means: behind nobody.
  const bool once = options.nonblock || (options.wait && *options.wait == Duration::zero());
  policy.once = once && options.supersedes != Supersedes::kReplace;
  if (options.wait && !once) policy.until = now + *options.wait;
  policy.tries = options.tries;
  policy.retry_interval = options.retry_interval;
  policy.connect_timeout = options.connect_timeout;
  policy.has_fallback = options.backends.size() > 1 || options.run_if_unavailable;
  return policy;
}

}  // namespace dlock
