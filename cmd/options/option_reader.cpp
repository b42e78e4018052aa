// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_reader.h"

#include "cmd/options/option_values.h"
#include "cmd/options/settings.h"
#include "lib/config/duration_text.h"

namespace dlock {

namespace {

bool acts_in(Command command, const OptionRow& row, const Setting& setting) {
  if ((row.flag_only & bit(command)) != 0) return setting.origin.layer == Origin::Layer::kFlag;
  const CommandSet seen_by = bit(Command::kConfig) | bit(Command::kDoctor);
  return has_option(command, row) || (seen_by & bit(command)) != 0;
}

}  // namespace

const Setting* OptionReader::find(OptionId id) const {
  const Setting* setting = look_up(id);
  return setting != nullptr && acts_in(command_, option_row(id), *setting) ? setting : nullptr;
}

const Setting* OptionReader::look_up(OptionId id) const {
  const OptionRow& row = option_row(id);
  const Setting* general = config_.find(config_section(row), config_key(row));
  const bool overridden = general != nullptr && general->origin.layer != Origin::Layer::kFile;
  if (overridden) return general;
  const Setting* special = (row.config & kInKey) != 0 ? config_.find(key_, row.name) : nullptr;
  if (special == nullptr && (row.config & kInBackend) != 0 && !backend_.empty())
    special = config_.find(backend_, config_key(row));
  return special != nullptr ? special : general;
}

bool OptionReader::given_by_flag(OptionId id) const {
  const Setting* setting = find(id);
  return setting != nullptr && setting->origin.layer == Origin::Layer::kFlag;
}

Result<void> OptionReader::read(OptionId id, Duration least, Duration& out) const {
  return read_with(
      id,
      [least](std::string_view text) -> Result<Duration> {
        auto duration = parse_duration(text);
        if (duration && *duration < least) {
          return Error{ErrorCode::kInvalid,
                       "'" + std::string(text) + "' is too short: " + spell_duration(least) + " or more"};
        }
        return duration;
      },
      out);
}

Result<void> OptionReader::read(OptionId id, std::int64_t least, std::int64_t most, int& out) const {
  return read_with(
      id,
      [least, most](std::string_view text) -> Result<int> {
        auto number = parse_number(text, least, most);
        if (!number) return number.error();
        return static_cast<int>(*number);
      },
      out);
}

Result<void> OptionReader::read(OptionId id, bool& out) const { return read_with(id, parse_flag, out); }

Result<void> OptionReader::read(OptionId id, std::string& out) const {
  if (const Setting* setting = find(id)) out = setting->value();
  return {};
}

Result<int> OptionReader::read_choice_number(OptionId id, int otherwise) const {
  const Setting* setting = look_up(id);
  if (setting == nullptr) return otherwise;
  auto number = parse_choice(setting->value(), option_row(id).value.name);
  if (number) return find(id) != nullptr ? *number : otherwise;
  if (auto refused = refuse(at(*setting, number.error())); !refused) return refused.error();
  return otherwise;
}

Result<void> OptionReader::refuse(Error error) const {
  if (mistakes_ == nullptr) return error;
  mistakes_->push_back(std::move(error));
  return {};
}

Error OptionReader::at(const Setting& setting, Error error) {
  const bool file = setting.origin.layer == Origin::Layer::kFile;
  if (file) error.code = ErrorCode::kMisconfigured;
  error.message = setting.origin.position() + ": " + (file ? setting.key + ": " : std::string()) + error.message;
  return error;
}

}  // namespace dlock
