// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/admin.h"

#include "backends/mysql/bound/view.h"
#include "backends/mysql/connection/common_statements.h"
#include "backends/mysql/doctor.h"
#include "backends/mysql/lease/view.h"
#include "backends/mysql/row/view.h"

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
    : AdminCommon(runtime.clock),
      settings_(std::move(settings)),
      runtime_(runtime),
      servers_(settings_.servers, dial, runtime.clock),
      view_(view_of(settings_, servers_, runtime)) {}

Result<KnownLocks> MysqlAdmin::known_locks() {
  auto names = view_->names();
  if (!names) return names.error();
  return KnownLocks{std::move(*names)};
}

std::vector<Result<LockState>> MysqlAdmin::inspect_some(std::span<const LockName> names) {
  auto states = view_->inspect_some(names);
  return states.empty() ? AdminCommon::inspect_some(names) : std::move(states);
}

Result<UniqueFd> MysqlAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  return fence_row(servers_, resource, token, runtime_.clock, soon());
}

std::vector<Finding> MysqlAdmin::diagnose() { return diagnose_servers(settings_, servers_.dial(), runtime_); }

Result<std::string> MysqlAdmin::set_up(bool print_only) {
  return set_up_tables(servers_, settings_, print_only, runtime_.clock, soon());
}

}  // namespace dlock::mysql
