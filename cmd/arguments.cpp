// SPDX-License-Identifier: Apache-2.0
#include "cmd/arguments.h"

namespace dlock {

Result<LockName> key_argument(const Options& options) {
  if (!options.keys.empty()) return options.keys.front();
  if (!options.words.empty()) return LockName::parse(options.words.front());
  return Error{ErrorCode::kInvalid, "the KEY is missing", "see: dlock help"};
}

Result<FencingToken> token_argument(const Options& options) {
  if (options.token) return *options.token;
  // The token is the last word: with "fence RESOURCE TOKEN" the resource may be a word as well.
  const std::size_t others = options.keys.empty() ? 1 : 0;
  if (options.words.size() > others) return FencingToken::parse(options.words.back());
  return Error{ErrorCode::kInvalid, "the TOKEN is missing", "it is the number in DLOCK_TOKEN"};
}

Result<Owner> owner_argument(const Options& options) {
  if (options.owner) return *options.owner;
  return Error{ErrorCode::kInvalid, "--owner is missing", "it is the first word that 'dlock acquire' printed"};
}

WaitPolicy wait_policy(const Options& options, TimePoint now) {
  WaitPolicy policy;
  policy.once = options.nonblock || (options.wait && *options.wait == Duration::zero());
  if (options.wait && !policy.once) policy.until = now + *options.wait;
  policy.tries = options.tries;
  policy.retry_interval = options.retry_interval;
  policy.connect_timeout = options.connect_timeout;
  return policy;
}

}  // namespace dlock
