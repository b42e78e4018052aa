// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/wait_policy.h"

namespace dlock {

WaitPolicy wait_policy(const Options& options, TimePoint now) {
  WaitPolicy policy;
  policy.once = options.nonblock || (options.wait && *options.wait == Duration::zero());
  if (options.wait && !policy.once) policy.until = now + *options.wait;
  policy.tries = options.tries;
  policy.retry_interval = options.retry_interval;
  policy.connect_timeout = options.connect_timeout;
  policy.has_fallback = options.backends.size() > 1 || options.run_if_unavailable;
  return policy;
}

}  // namespace dlock
