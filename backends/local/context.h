// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/local/files/lock_dir.h"
#include "backends/local/files/store.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"

namespace dlock::local {

/// Settings of a URL: local: or local:/dir, with ?allow-network-fs=1 and, for stocks, ?sync=.
struct Settings {
  std::string store;              ///< redacted URL
  std::string directory;          ///< of local:/dir; empty: the default one
  bool allow_network_fs = false;  ///< the user says that its locks work
  bool durable_stock = true;      ///< answers of a stock survive the loss of power
};

Settings settings_of(const BackendUrl& url);

/// State shared by a backend's sessions. Belongs to the backend, which outlives its sessions.
struct LocalContext {
  static LocalContext of(const BackendUrl& url, const Runtime& runtime);

  Runtime runtime;
  Settings settings;
  std::string host;
  std::uint32_t uid = geteuid();  ///< as whom we lock: no program of dlock's ever changes that

  /// Which pids ours are, or 0 without /proc. Asked of the kernel on first use: that is slower than the lock.
  std::uint64_t own_pid_namespace() const;

  /// The lock directory, opened and checked on first use.
  Result<const LockDir*> directory();
  /// The same for looking and for freeing, which make nothing: null if there is none. Root's may be another user's.
  Result<const LockDir*> existing_directory();
  /// None was named, none exists and none can be made: a key that is a path can do without.
  bool has_no_directory() const;
  /// Its path, whether or not it is fit.
  Result<std::string> directory_path() const;

  std::optional<LockDir> opened_directory = {};                   ///< see directory()
  mutable std::optional<std::uint64_t> known_pid_namespace = {};  ///< see own_pid_namespace()

  /// The file of the last lock that was given back, still open: taking the same key again is then free of open and
  /// close. Nothing is locked through it. A process forked since then has to open one of its own: two processes that
  /// lock through one open file do not exclude each other.
  std::unique_ptr<LockFile> spare = {};
  pid_t spare_kept_by = 0;
};

}  // namespace dlock::local
