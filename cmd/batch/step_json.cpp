// SPDX-License-Identifier: Apache-2.0
#define JSON_NO_IO 1
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "cmd/batch/step_line.h"
#include "cmd/options/command_table.h"

namespace dlock {
namespace {

/// The members of the object, as the callback of a parser sees them: which one of two of the same name is meant is a
/// guess.
class MembersSeen {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key && !names_.insert(parsed.get<std::string>()).second) {
      twice_ = parsed.get<std::string>();
    }
    return true;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::set<std::string> names_;
  std::optional<std::string> twice_;
};

}  // namespace

Result<StockStep> parse_json_step(std::string_view line) {
  const auto wrong = [](std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; };
  MembersSeen members;
  const auto object = nlohmann::json::parse(line, std::ref(members), false);
  if (!object.is_object()) return wrong("this is not a JSON object");
  if (members.twice()) return wrong("member " + dlock::in_quotes(*members.twice()) + " appears twice");
  std::string step;
  std::string id;
  std::string refund_id;
  std::optional<Quantity> quantity;
  for (const auto& [name, value] : object.items()) {
    std::string* text = name == "step" ? &step : name == "id" ? &id : name == "refund_id" ? &refund_id : nullptr;
    if (text && !value.is_string()) return wrong("'" + name + "' must be a string");
    if (text) {
      *text = value.get<std::string>();
    } else if (name == "qty") {
      const auto number = value.is_number_unsigned() ? parse_quantity(value.dump()) : parse_quantity("?");
      if (!number) return wrong("'qty' must be a whole number from 1 to " + std::to_string(kMostItems));
      quantity = *number;
    } else {
      return wrong("unknown member " + dlock::in_quotes(name) + "; the members are step, id, qty and refund_id");
    }
  }
  if (step.empty() || id.empty()) return wrong(std::string("'") + (step.empty() ? "step" : "id") + "' is missing");
  return make_step(step, id, quantity ? &*quantity : nullptr, refund_id);
}

}  // namespace dlock
