// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/backend.h"

#include "backends/toy/rows/rows.h"
#include "lib/row_lock/row_admin.h"
#include "lib/row_lock/row_lock.h"

namespace dlock {
namespace {

class ToyAdmin final : public RowAdmin {
 public:
  ToyAdmin(std::unique_ptr<Rows> rows, const Runtime& runtime) : RowAdmin(std::move(rows), runtime) {}
  std::vector<Finding> diagnose() override { return {Finding::ok(store() + ": is a folder")}; }
};

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_toy_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto rows, make_toy_rows(url, kLockSpace, runtime));
  return std::unique_ptr<LockAdmin>(std::make_unique<ToyAdmin>(std::move(rows), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_toy_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  TRY_ASSIGN(auto rows, make_toy_rows(url, kLockSpace, runtime));
  return std::unique_ptr<LockDriver>(std::make_unique<RowLock>(std::move(rows), spec, runtime));
}

}  // namespace dlock
