// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/admin.h"

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/lock/store.h"
#include "lib/lock/lock_errors.h"

namespace dlock::zookeeper {
namespace {

Result<Answer> change(Calls& calls, Change one, TimePoint until) {
  return calls.call(ask_change({std::move(one)}), until, nullptr);
}

}  // namespace

Result<void> pass_fence(Calls& calls, const std::string& directory, const LockName& resource, FencingToken token,
                        TimePoint until) {
  const std::string path = directory + "/" + one_part(resource);
  while (true) {
    // Through the leader: a server that lags could show a lower one.
    TRY(calls.call_until(ask_sync(path), until, nullptr));
    TRY_ASSIGN(const auto seen, calls.call_until(ask_data(path), until, nullptr));
    Result<Answer> changed = Error{};
    if (seen.code == Code::kNoNode) {
      const auto made = make_directory(calls, directory, true, "", until, nullptr);
      if (!made && (made.error().code != ErrorCode::kUnavailable || calls.clock().now() >= until)) return made.error();
      if (!made) continue;
      changed = change(calls, create_node(path, token.text()), until);
    } else {
      const auto highest = FencingToken::parse(seen.data);
      if (!highest) {
        return Error{ErrorCode::kMisconfigured, path + " on " + calls.store() + " does not hold a token",
                     "find out who wrote it; after deleting it the highest token is forgotten"};
      }
      if (token < *highest) return token_too_old(resource, token, highest->text());
      if (token == *highest) return {};
      changed = change(calls, set_node(path, token.text(), seen.stat.version), until);
    }
    if (changed && changed->code == Code::kOk) return {};
    if (!changed && (changed.error().code != ErrorCode::kUnavailable || calls.clock().now() >= until)) {
      return changed.error();
    }
    if (calls.clock().now() >= until) return calls.unreachable();
  }
}

}  // namespace dlock::zookeeper
