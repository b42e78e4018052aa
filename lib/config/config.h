// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// Where a value comes from.
struct Origin {
  enum class Layer { kFlag, kEnvironment, kFile, kDefault };
  Layer layer = Layer::kDefault;
  std::string where;  ///< "--ttl", "DLOCK_TTL", "/etc/dlock/config.toml:3"; empty for kDefault
  int column = 0;     ///< of kFile

  /// "--ttl", "$DLOCK_TTL", "/etc/dlock/config.toml:3", "default".
  std::string text() const;
  /// As text(), with the column of a file: what begins an error message.
  std::string position() const;
};

/// One value that somebody has set.
struct Setting {
  std::string section;  ///< "" (top of the file), "defaults", "backend.NAME"
  std::string key;
  std::vector<std::string> values;  ///< one; a list such as `fallback` may have none or several
  Origin origin;

  const std::string& value() const { return values.front(); }
};

/// One key that may stand in [defaults].
struct ConfigKey {
  enum class Shape { kText, kFlag, kNumber, kDuration, kList };
  std::string_view name;
  Shape shape = Shape::kText;
  bool of_backend = false;  ///< may stand in [backend.NAME] as well
};

/// Reads the text of one configuration file: default-backend, [defaults], [backend.NAME]. Pure. Misconfigured,
/// beginning with "path:line:column: ", for what is not TOML, for an unknown key (naming the nearest) and for a value
/// of the wrong type; what the value says is checked by whoever uses it.
Result<std::vector<Setting>> parse_config(std::string_view text, const std::string& path,
                                          std::span<const ConfigKey> keys);

/// What flags, environment and configuration files say, merged key by key; each value knows its origin. Layers are
/// added from the strongest to the weakest: what is there already stays. Holds no secrets except in values of `url`,
/// which are shown only through BackendUrl::redacted().
class Config {
 public:
  /// False if that key has been set by a stronger layer.
  bool add(Setting setting);

  /// Whose word a file is.
  enum class Trust {
    kChosen,  ///< named by --config or DLOCK_CONFIG: must exist
    kFound,   ///< found in a home directory: left out, with a note, when it belongs neither to us nor to root
    kSystem,  ///< of /etc
  };

  /// Adds what a file says. A file that does not exist is no error unless it was chosen; one that cannot be read is
  /// Misconfigured, and so is everything that parse_config() refuses. One that holds a password and is no secret is
  /// added as well, and faults() says so.
  Result<void> add_file(const std::string& path, Trust trust, std::span<const ConfigKey> keys);

  /// nullptr if nobody has set it. Valid until the next add.
  const Setting* find(std::string_view section, std::string_view key) const;

  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<std::string>& files() const { return files_; }  ///< that were read, the strongest first

  /// Files with a password in them that others can read, or that belong to somebody else: Denied, with the remedy. Only
  /// who merely looks at the configuration may go on.
  const std::vector<Error>& faults() const { return faults_; }
  /// Files that were left out, and why.
  const std::vector<Error>& notes() const { return notes_; }

  /// The names of the [backend.NAME] sections, each once.
  std::vector<std::string> backend_names() const;

 private:
  std::vector<Setting> settings_;
  std::vector<std::string> files_;
  std::vector<Error> faults_;
  std::vector<Error> notes_;
};

}  // namespace dlock
