// SPDX-License-Identifier: Apache-2.0
#include "tests/support/keeper_store.h"

#include <unistd.h>

#include <climits>
#include <stdexcept>

#include "backends/mysql/backend.h"
#include "backends/redis/backend.h"
#include "backends/zookeeper/backend.h"
#include "lib/keeper/keeper_session.h"

namespace dlock::testing {
namespace {

std::string program_of(std::string_view family) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = own.substr(0, own.rfind("/tests/"));
  return folder + "/libexec/dlock/dlock-" + std::string(family);
}

Result<std::unique_ptr<LockAdmin>> make_backend(const BackendUrl& url, const Runtime& runtime) {
  if (url.family == "mysql") return make_mysql_admin(url, runtime);
  if (url.family == "zookeeper") return make_zookeeper_admin(url, runtime);
  return make_redis_admin(url, runtime);
}

}  // namespace

/// Its locks are taken as dlock takes them: through the program.
std::unique_ptr<Client> keeper_store(const std::string& text) {
  static SystemClock clock;
  static const Log log;
  const auto url = BackendUrl::parse(text);
  if (!url) throw std::runtime_error(url.error().message);
  auto admin = make_backend(*url, Runtime{clock, log});
  if (!admin) throw std::runtime_error(admin.error().message);
  return std::make_unique<Client>(std::move(*admin), [url = *url](const LockSpec& spec) {
    return Result<std::unique_ptr<LockSession>>(
        std::make_unique<KeeperSession>(program_of(url.family), url, spec, clock));
  });
}

}  // namespace dlock::testing
