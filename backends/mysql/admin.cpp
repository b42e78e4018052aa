// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/admin.h"

#include <algorithm>

#include "backends/mysql/bound/view.h"
#include "backends/mysql/connection/common_statements.h"
#include "backends/mysql/doctor.h"
#include "backends/mysql/lease/view.h"
#include "backends/mysql/row/view.h"
#include "lib/lock/lock_errors.h"

namespace dlock::mysql {
namespace {

std::unique_ptr<StrategyView> view_of(const Settings& settings, Servers& servers, const Runtime& runtime) {
  switch (settings.strategy) {
    case Strategy::kLease:
      return std::make_unique<LeaseView>(servers, settings.store, runtime);
    case Strategy::kSession:
    case Strategy::kRow:
      return std::make_unique<BoundView>(settings, servers, runtime);
    case Strategy::kUnique:
    case Strategy::kOccupy:
      return std::make_unique<RowView>(settings, servers, runtime);
  }
  return nullptr;
}

}  // namespace

MysqlAdmin::MysqlAdmin(Settings settings, const Dial& dial, const Runtime& runtime)
    : settings_(std::move(settings)),
      runtime_(runtime),
      servers_(settings_.servers, dial, runtime.clock),
      view_(view_of(settings_, servers_, runtime)) {}

Result<LiveLocks> MysqlAdmin::inspect_all() {
  const auto names = view_->names();
  if (!names) return names.error();
  LiveLocks live;
  for (const LockName& name : *names) {
    auto state = view_->inspect(name);
    if (!state) {
      const bool is_this_one =
          state.error().code == ErrorCode::kMisconfigured || state.error().code == ErrorCode::kDenied;
      if (!is_this_one || ++live.unreadable == names->size()) return state.error();
      continue;
    }
    if (!state->holders.empty() || !state->waiters.empty()) live.locks.push_back(std::move(*state));
  }
  return live;
}

Result<void> MysqlAdmin::check(const LockName& name, FencingToken token) {
  const auto state = view_->inspect(name);
  if (!state) return state.error();
  const bool present = std::any_of(state->holders.begin(), state->holders.end(), [&](const Participant& holder) {
    return holder.token == token && holder.note.empty();
  });
  if (present) return {};
  return no_present_holder(token, name);
}

Result<UniqueFd> MysqlAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  return fence_row(servers_, resource, token, runtime_.clock, soon());
}

std::vector<Finding> MysqlAdmin::diagnose() { return diagnose_servers(settings_, servers_.dial(), runtime_); }

Result<std::string> MysqlAdmin::set_up(bool print_only) {
  return set_up_tables(servers_, settings_, print_only, runtime_.clock, soon());
}

}  // namespace dlock::mysql
