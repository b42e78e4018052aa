// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_backend.h"

#include <unistd.h>

#include <algorithm>

#include "backends/local/fence_file.h"
#include "backends/local/files/process.h"
#include "backends/local/leases.h"
#include "backends/local/local_context.h"
#include "backends/local/local_doctor.h"
#include "backends/local/local_session.h"
#include "backends/local/look.h"

namespace dlock {
namespace {

using local::LocalContext;
using local::LockFile;

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

/// The lock files of keys: "<32 hex digits>.lock".
bool is_key_file(const std::string& name) { return name.size() == 32 + std::string_view(".lock").size(); }

Error unsupported(const std::string& what, const std::string& next) { return {ErrorCode::kUnsupported, what, next}; }

bool allows_network_fs(const BackendUrl& url) {
  const auto param = url.params.find("allow-network-fs");
  return param != url.params.end() && param->second == "1";
}

LocalContext make_context(const BackendUrl& url, const Runtime& runtime) {
  return {.runtime = runtime,
          .store = url.redacted(),
          .named_directory = url.path,
          .allow_network_fs = allows_network_fs(url),
          .host = host_name()};
}

class LocalBackend final : public LockAdmin {
 public:
  LocalBackend(const BackendUrl& url, const Runtime& runtime) : context_(make_context(url, runtime)) {}

  const std::string& store() const override { return context_.store; }
  Result<LockState> inspect(const LockName& name) override;
  Result<LiveLocks> inspect_all() override;
  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override {
    return local::force_release(context_, name, shown);
  }
  Result<void> check(const LockName& name, FencingToken token) override {
    return local::check_token(context_, name, token);
  }
  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    return local::renew_lease(context_, name, owner, ttl);
  }
  Result<void> release(const LockName& name, const Owner& owner) override {
    return local::release_lease(context_, name, owner);
  }
  Result<UniqueFd> fence(const LockName& resource, FencingToken token, const WaitPolicy& wait) override {
    return local::fence(context_, resource, token, wait);
  }
  Result<std::vector<Swept>> collect_garbage(bool dry_run) override;
  std::vector<Finding> diagnose() override { return local::diagnose(context_); }
  Result<Duration> ping() override { return local::ping(context_); }

 private:
  Result<std::optional<Swept>> sweep(const std::string& file_name, bool dry_run);

  LocalContext context_;
};

Result<std::unique_ptr<LockSession>> open_session(LocalContext& context, const LockSpec& spec) {
  if (spec.mode == Mode::kPermits && spec.name.is_path()) {
    return unsupported("a file under flock(2) cannot be held with permits", "use a key that does not begin with '/'");
  }
  if (spec.lock_delay.count() > 0 && spec.mode != Mode::kExclusive) {
    return unsupported("a lock-delay has a meaning only for an exclusive lock",
                       "leave out --lock-delay, or take it -x");
  }
  return std::unique_ptr<LockSession>(std::make_unique<local::LocalSession>(context, spec));
}

Result<LockState> LocalBackend::inspect(const LockName& name) {
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  const auto file = LockFile::open_existing(**dir, local::lock_file_name(name), name.text(), false);
  if (!file) return file.error();
  if (!*file) {
    LockState state = local::describe(local::Look(), context_, name);
    state.ever_taken = !state.holders.empty() || !state.waiters.empty();
    return state;
  }
  const auto look = local::look_at(**file, name.is_path());
  if (!look) return look.error();
  LockState state = local::describe(*look, context_, name);
  state.ever_taken = true;
  return state;
}

Result<LiveLocks> LocalBackend::inspect_all() {
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  const auto names = (*dir)->list(".lock");
  if (!names) return names.error();
  LiveLocks live;
  for (const std::string& file_name : *names) {
    if (!is_key_file(file_name)) continue;
    const auto file = LockFile::open_existing(**dir, file_name, {}, false);
    if (!file) ++live.unreadable;
    if (!file || !*file) continue;
    const auto key = (*file)->key();
    const auto name = LockName::parse(key.value_or(std::string()));
    if (!name || local::lock_file_name(*name) != file_name) continue;
    const auto look = local::look_at(**file, name->is_path());
    if (!look) ++live.unreadable;
    if (!look) continue;
    LockState state = local::describe(*look, context_, *name);
    if (!state.holders.empty() || !state.waiters.empty()) live.locks.push_back(std::move(state));
  }
  std::sort(live.locks.begin(), live.locks.end(),
            [](const LockState& a, const LockState& b) { return a.name < b.name; });
  return live;
}

Result<std::vector<Swept>> LocalBackend::collect_garbage(bool dry_run) {
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  const auto names = (*dir)->list(".lock");
  if (!names) return names.error();
  std::vector<Swept> all;
  for (const std::string& file_name : *names) {
    if (!is_key_file(file_name)) continue;
    auto swept = sweep(file_name, dry_run);
    if (!swept) context_.runtime.log.warn(swept.error().message);
    else if (*swept) all.push_back(std::move(**swept));
  }
  std::sort(all.begin(), all.end(), [](const Swept& a, const Swept& b) { return a.name < b.name; });
  return all;
}

/// Drops the records of a key that nobody holds or waits for. The file stays: removing it would split the lock between
/// those who have it open and those who come.
Result<std::optional<Swept>> LocalBackend::sweep(const std::string& file_name, bool dry_run) {
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  const auto file = LockFile::open_existing(**dir, file_name, {}, true);
  if (!file) return file.error();
  if (!*file) return std::optional<Swept>();
  const auto got = (*file)->try_guard();
  if (!got) return got.error();
  if (!*got) return std::optional<Swept>();
  const local::Guarded guarded(**file);
  auto header = (*file)->read_header();
  if (!header) return header.error();
  const auto name = LockName::parse((*file)->key().value_or(std::string()));
  const std::size_t records = (*file)->read_records().size();
  if (!name || records == 0 || !(*file)->live().empty()) return std::optional<Swept>();
  if (!dry_run) {
    header->ring = local::kSmallRing;
    header->next_record = 0;
    if (const auto written = (*file)->write(*header); !written) return written.error();
    if (const auto dropped = (*file)->drop_records(); !dropped) return dropped.error();
  }
  const std::string what = std::to_string(records) + (records == 1 ? " record" : " records") + " of past holders";
  return std::optional<Swept>(Swept{*name, what});
}

}  // namespace

OpenSession open_local_sessions(const BackendUrl& url, const Runtime& runtime) {
  const auto context = std::make_shared<LocalContext>(make_context(url, runtime));
  return [context](const LockSpec& spec) { return open_session(*context, spec); };
}

Result<std::unique_ptr<LockAdmin>> make_local_backend(const BackendUrl& url, const Runtime& runtime) {
  return std::unique_ptr<LockAdmin>(std::make_unique<LocalBackend>(url, runtime));
}

}  // namespace dlock
