// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// The value of a variable of the environment, nullopt if it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// `text` with the values of ${NAME} and ${NAME:-OTHERWISE}; $${ is a ${ that means nothing. Misconfigured for a
/// variable that is not set, and for what has another form.
Result<std::string> expand_variables(std::string_view text, const VariableLookup& variables);

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

/// One value that was set.
struct Setting {
  std::string section;              ///< "" (top of the file), "defaults", "backend.NAME", "key.PATTERN"
  std::string key;                  ///< empty: the section [backend.NAME] is there, with nothing in it
  std::vector<std::string> values;  ///< one; a list such as `fallback` may have none or several
  Origin origin;

  const std::string& value() const { return values.front(); }
};

/// One key that may stand in [defaults], or elsewhere.
struct ConfigKey {
  enum class Shape { kText, kFlag, kNumber, kDuration, kList };
  std::string_view name;
  Shape shape = Shape::kText;
  bool of_backend = false;  ///< may stand in [backend.NAME] as well
  bool of_key = false;      ///< may stand in [key."PATTERN"] as well
  bool of_defaults = true;  ///< may stand in [defaults]
};

/// The keys and variables that are allowed in files.
struct ConfigRules {
  std::function<std::span<const ConfigKey>()> keys;  ///< asked only when there is a file
  VariableLookup variables;                          ///< values for ${NAME}
};

/// Content of one file.
struct ParsedConfig {
  std::vector<Setting> settings;
  std::vector<Error> mistakes;   ///< Misconfigured, each beginning with "path:line:column: ", in the order of the file
  std::optional<Origin> secret;  ///< of a value that has a password in it, as it is written in the file
  bool hides_backend = false;    ///< the fault may be in the name of the backend
};

/// Reads the text of one configuration file. Pure. A mistake is what is not TOML (such a file has no settings), an
/// unknown key (naming the nearest), a value of the wrong type, and a variable that is not set; what the value says is
/// checked by its user.
ParsedConfig parse_config(std::string_view text, const std::string& path, const ConfigRules& rules);

/// Settings of flags, environment and configuration files, merged key by key; each value knows its origin. Layers are
/// added from the strongest to the weakest: what is there already stays. Holds no secrets except in values of `url`,
/// which are shown only through BackendUrl::redacted().
class Config {
 public:
  /// False if that key has been set by a stronger layer.
  bool add(Setting setting);

  /// Origin of a file's name, which decides how far it is trusted.
  enum class Trust {
    kChosen,  ///< named by --config or DLOCK_CONFIG: must exist
    kFound,   ///< found in a home directory: left out, with a note, when it belongs neither to us nor to root
    kSystem,  ///< of /etc
  };

  /// Adds what a file says. One that cannot be read, or was chosen and does not exist, is one of mistakes(), as is all
  /// that parse_config() finds. One that holds a password and is not secret is added as well, and faults() says so.
  void add_file(const std::string& path, Trust trust, const ConfigRules& rules);

  /// Adds the files of a folder, if it is there: conf.d/*.toml in it, the last by name being the strongest, and
  /// config.toml, the weakest. Each as add_file() does.
  void add_folder(const std::string& folder, Trust trust, const ConfigRules& rules);

  /// nullptr if it is not set. Valid until the next add.
  const Setting* find(std::string_view section, std::string_view key) const;

  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<std::string>& files() const { return files_; }  ///< that were read, the strongest first

  /// Everything that is wrong in the files, the strongest first.
  const std::vector<Error>& mistakes() const { return mistakes_; }
  /// Whether a mistake may be what names the backend of some key.
  bool hides_backend() const { return hides_backend_; }

  /// Files with a password in them that others can read, or that belong to another user: Denied, with the remedy. Only
  /// who merely looks at the configuration may go on.
  const std::vector<Error>& faults() const { return faults_; }
  /// Files that were left out, and why.
  const std::vector<Error>& notes() const { return notes_; }

  /// The names of the [backend.NAME] sections, each once.
  std::vector<std::string> backend_names() const;
  /// The sections [key."PATTERN"], each once.
  std::vector<std::string> key_sections() const;
  /// Those whose pattern means `key`, the most specific first: the pattern that is the key itself; then the one with
  /// most characters that are not wildcards; of two with as many, the first by name.
  std::vector<std::string> key_sections_for(std::string_view key) const;

 private:
  std::vector<std::string> sections_of(std::string_view kind) const;
  void add_folder_of_files(const std::string& folder, Trust trust, const ConfigRules& rules);
  void not_read(Error why);

  std::vector<Setting> settings_;
  std::vector<std::string> files_;
  std::vector<Error> mistakes_;
  std::vector<Error> faults_;
  std::vector<Error> notes_;
  bool hides_backend_ = false;
};

}  // namespace dlock
