// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock::zookeeper {

/// The directory of a lock below `root` (the URL's path, "" or "/app"): the key itself, '/' being a hierarchy. What a
/// path cannot hold is written as %XX, an empty part as %, so no two keys meet. Unsupported for a key that begins with
/// '/': who writes one expects the node of that name, which is the key without it.
Result<std::string> directory_of(const std::string& root, const LockName& name);

/// The key that has this directory; nullopt if none has.
std::optional<LockName> name_of_directory(const std::string& root, const std::string& directory);

/// A node below `root` that is not a key's directory, for what is not a lock. `purpose`: "ping".
std::string own_directory(const std::string& root, std::string_view purpose);

/// A whole name, including every '/', as one part of a path.
std::string one_part(const LockName& name);
/// The name that one_part() has written so; nullopt if there is none.
std::optional<LockName> name_of_part(const std::string& part);

/// Which protocol made a node in a lock's directory (facts: the names that Curator, kazoo and their kin give).
enum class Family {
  kCuratorMutex,  ///< _c_UUID-lock-N; also go-zookeeper's Lock
  kCuratorRead,   ///< _c_UUID-__READ__N
  kCuratorWrite,  ///< _c_UUID-__WRIT__N
  kKazooLock,     ///< HEX__lock__N: Lock and WriteLock
  kKazooRead,     ///< HEX__rlock__N
  kLease,         ///< _c_UUID-lease-N: Curator's semaphores
};

/// For people: "Curator mutex".
const char* family_text(Family family);

struct NodeName {
  Family family = Family::kCuratorMutex;
  std::int64_t number = 0;
  bool is_ours = false;   ///< dlock's, which sees more neighbours than the others of its family do
  bool is_lease = false;  ///< dlock's, held by no process (standing_leases.h)
};

/// nullopt for a node that is none of them.
std::optional<NodeName> parse_node_name(std::string_view name);

/// The GUID in a contender's name, in 32 digits; "" if it has none.
std::string guid_in(std::string_view name);

/// The part of a node's name that no node of another acquisition has: by it our node is found again after an answer was
/// lost. Begins with a letter, so that no name sorts before a number.
class Guid {
 public:
  /// One by which NodeName::is_ours is known.
  static Guid random();
  explicit Guid(std::string hex) : hex_(std::move(hex)) {}

  /// The name of a node of this family, to which the server appends its number.
  std::string node(Family family) const;
  const std::string& hex() const { return hex_; }
  /// In that of a contender, or of the lease in its place.
  bool is_in(std::string_view name) const;

 private:
  std::string dashed() const;
  std::string hex_;  ///< 32 digits
};

/// The name of the lease that takes the place of this contender of dlock's, with its number.
std::string lease_name(const std::string& contender);

/// A directory with this number takes no more contenders: at 2^31 ZooKeeper's counter stops, and order is lost.
inline constexpr std::int64_t kLastNumber = 2147480000;

std::string parent_of(const std::string& path);
std::string base_of(const std::string& path);

}  // namespace dlock::zookeeper
