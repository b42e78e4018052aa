// SPDX-License-Identifier: Apache-2.0
#include <mariadb/mysql.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "backends/mysql/connection/fiber.h"

namespace dlock::mysql {
namespace {

/// Ways to log in that show a password to nobody: what is sent proves it against a fresh salt, and cannot be turned
/// back.
constexpr const char* kProofs[] = {"mysql_native_password", "client_ed25519", "parsec"};

/// A server whose certificate was verified may be told the password itself. Not `dialog`: it would ask the terminal.
constexpr const char* kToVerified[] = {"caching_sha2_password", "sha256_password", "mysql_clear_password"};

bool is_one_of(std::span<const char* const> names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

/// There is a ca-file only together with the check of the certificate (connector_database.cpp), and the library begins
/// no login before that.
bool is_verified(MYSQL* mysql) {
  const char* ca_file = nullptr;
  return mysql_get_optionv(mysql, MYSQL_OPT_SSL_CA, &ca_file) == 0 && ca_file != nullptr && *ca_file != '\0';
}

bool may_log_in(MYSQL* mysql, std::string_view plugin) {
  return is_one_of(kProofs, plugin) || (is_verified(mysql) && is_one_of(kToVerified, plugin));
}

constexpr int kForLogins = 2;  ///< MYSQL_CLIENT_AUTHENTICATION_PLUGIN, whose header needs one that is not installed

/// A piece of memory larger than that is not what an answer of bearable length needs.
constexpr std::size_t kLargestPiece = 32UL * 1024 * 1024;

}  // namespace
}  // namespace dlock::mysql

// What the library does for whoever asks, and must not: the linker leads it here (backends/CMakeLists.txt).
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
void* __real_mysql_client_find_plugin(MYSQL* mysql, const char* name, int type);
ssize_t __real_ma_pvio_cache_read(void* pvio, unsigned char* buffer, std::size_t length);
void* __real_ma_alloc_root(void* root, std::size_t size);

/// The server chooses how to log in, and the library would load a file of that name. Without a plugin the library says
/// the name of the user and nothing else.
void* __wrap_mysql_client_find_plugin(MYSQL* mysql, const char* name, int type) {
  dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current();
  if (type == dlock::mysql::kForLogins && fiber != nullptr) {
    const bool may = dlock::mysql::may_log_in(mysql, name);
    fiber->login_asked_for(name, may);
    if (!may) return nullptr;
  }
  return __real_mysql_client_find_plugin(mysql, name, type);
}

/// Everything that a server says comes through here, decrypted. To the library the connection breaks.
ssize_t __wrap_ma_pvio_cache_read(void* pvio, unsigned char* buffer, std::size_t length) {
  dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current();
  if (fiber != nullptr && !fiber->may_receive(length)) return -1;
  return __real_ma_pvio_cache_read(pvio, buffer, length);
}

/// The library believes the numbers that a server announces.
void* __wrap_ma_alloc_root(void* root, std::size_t size) {
  return size > dlock::mysql::kLargestPiece ? nullptr : __real_ma_alloc_root(root, size);
}
// NOLINTEND(bugprone-reserved-identifier)
}
