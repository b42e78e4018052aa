// SPDX-License-Identifier: Apache-2.0
#include "tests/support/stores.h"

#include <unistd.h>

#include <climits>
#include <stdexcept>

#include "lib/keeper/keeper_session.h"

namespace dlock::testing {
namespace {

const Runtime& runtime() {
  static const Log log(Log::Style{.quiet = true});
  static const Runtime all{test_clock(), log};
  return all;
}

std::string program_of(std::string_view family) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = own.substr(0, own.rfind("/tests/"));
  return folder + "/libexec/dlock/dlock-" + std::string(family);
}

/// The first row of the family of `url` that has `part`, or any if none has.
template <typename Part>
const RegisteredBackend& backend_of(const BackendUrl& url, Part RegisteredBackend::*part) {
  const RegisteredBackend* found = nullptr;
  for (const RegisteredBackend& row : every_backend()) {
    if (row.family == url.family && (!found || row.*part)) found = &row;
  }
  if (!found) throw std::runtime_error(url.redacted() + ": this backend is not built");
  return *found;
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

}  // namespace

Clock& test_clock() {
  static SystemClock clock;
  return clock;
}

std::unique_ptr<Client> connect_store(const std::string& text) {
  const BackendUrl url = value_of(BackendUrl::parse(text));
  const RegisteredBackend& backend = backend_of(url, &RegisteredBackend::sessions);
  auto admin = value_of(backend.admin(url, runtime()));
  if (backend.sessions) return std::make_unique<Client>(std::move(admin), backend.sessions(url, runtime()));
  return std::make_unique<Client>(std::move(admin), [url](const LockSpec& spec) {
    return Result<std::unique_ptr<LockSession>>(
        std::make_unique<KeeperSession>(program_of(url.family), url, spec, test_clock()));
  });
}

std::unique_ptr<Stock> connect_stock(const std::string& text) {
  const BackendUrl url = value_of(BackendUrl::parse(text));
  return value_of(backend_of(url, &RegisteredBackend::stock).stock(url, runtime()));
}

std::unique_ptr<Rows> connect_rows(const std::string& text) {
  const BackendUrl url = value_of(BackendUrl::parse(text));
  const auto make = backend_of(url, &RegisteredBackend::stock).rows;
  return value_of(make(url, {"test", "many/", std::chrono::hours(1)}, runtime()));
}

}  // namespace dlock::testing
