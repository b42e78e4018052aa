// SPDX-License-Identifier: Apache-2.0
#include "cmd/batch/step_line.h"

#include <algorithm>
#include <array>

#include "cmd/options/command_table.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using Kind = StockStep::Kind;

constexpr std::array<std::string_view, 3> kWords{"take", "refund", "add"};

std::string_view word_of(Kind kind) { return kWords[static_cast<std::size_t>(kind)]; }

Error wrong(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

/// The next word of `rest`; empty: there is none.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return cut(rest, ' ');
}

struct Said {
  std::string_view word;
  const StockParts* parts;
};

Said said_by(const StepAnswer& answer) {
  if (const auto* taken = std::get_if<StockTaken>(&answer)) return {taken->repeated ? "repeated" : "ok", &taken->parts};
  if (const auto* moved = std::get_if<StockMoved>(&answer)) return {moved->repeated ? "repeated" : "ok", &moved->parts};
  if (std::holds_alternative<StockShort>(answer)) return {"short", nullptr};
  return {"error", nullptr};
}

Error in_progress(const LockName& id) {
  return {ErrorCode::kBusy, "request '" + id.text() + "' is being served by another command right now"};
}

/// What stood in the line never steers a terminal, nor fills it.
std::string shown_message(const Error& error) {
  constexpr std::size_t kMost = 400;
  return printable(error.message, kMost);
}

constexpr std::string_view kSchema = "dlock.stock.batch/1";

void put_error(JsonWriter& json, const Error& error) {
  json.field("answer", "error").field("error", error_name(error.code));
  json.field("message", shown_message(error)).field("next", error.next);
}

/// The step from the parts of a line. `quantity` null, `refund_id` empty: the line has none.
Result<StockStep> make_step(std::string_view word, std::string_view id, const Quantity* quantity,
                            std::string_view refund_id = {}) {
  const auto* const row = std::find(kWords.begin(), kWords.end(), word);
  if (row == kWords.end()) return wrong("unknown step " + in_quotes(word));
  const auto kind = static_cast<Kind>(row - kWords.begin());
  auto name = LockName::parse(id);
  if (!name) return wrong("the id: " + name.error().message);
  if (!quantity && kind == Kind::kAdd) return wrong("add needs a quantity: add ID QTY");
  StockStep step{.kind = kind, .id = std::move(*name)};
  if (quantity) step.quantity = *quantity;
  if (refund_id.empty()) return step;
  if (kind != Kind::kRefund) return wrong(std::string(word) + " takes no refund id");
  auto refund = LockName::parse(refund_id);
  if (!refund) return wrong("the refund id: " + refund.error().message);
  step.refund_id = std::move(*refund);
  return step;
}

}  // namespace

Result<StockStep> parse_step(std::string_view line) {
  std::string_view rest = line;
  const std::string_view word = next_word(rest);
  const std::string_view id = next_word(rest);
  const std::string_view number = next_word(rest);
  if (word.empty()) return wrong("the line is empty");
  if (id.empty()) return wrong(in_quotes(word) + " needs a request id after it");
  const std::string_view refund_id = word == "refund" ? next_word(rest) : std::string_view();
  if (!next_word(rest).empty()) {
    return wrong("unexpected words after " +
                 (refund_id.empty() ? "the quantity " + in_quotes(number) : in_quotes(refund_id)));
  }
  if (number.empty()) return make_step(word, id, nullptr);
  const auto quantity = parse_quantity(number);
  if (!quantity) return wrong("the quantity: " + quantity.error().message);
  return make_step(word, id, &*quantity, refund_id);
}

void put_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer) {
  out += step.id.text();
  if (!answer) {
    out.append(" error ").append(error_name(answer.error().code)).append(" ").append(shown_message(answer.error()));
  } else if (std::holds_alternative<StockInProgress>(*answer)) {
    out.append(" error busy ").append(in_progress(step.id).message);
  } else {
    const Said said = said_by(*answer);
    out.append(" ").append(said.word);
    if (const auto* by = std::get_if<StockShort>(&*answer)) {
      out.append(" ").append(std::to_string(by->available)).append(" ").append(std::to_string(by->reserved));
    }
    if (said.parts && !said.parts->empty()) out.append(" ").append(parts_text(*said.parts));
  }
  out += '\n';
}

void put_json_answer(std::string& out, const StockStep& step, const Result<StepAnswer>& answer) {
  JsonWriter json(kSchema);
  json.field("id", step.id.text()).field("step", word_of(step.kind));
  if (!answer) {
    put_error(json, answer.error());
  } else if (std::holds_alternative<StockInProgress>(*answer)) {
    put_error(json, in_progress(step.id));
  } else {
    const Said said = said_by(*answer);
    json.field("answer", said.word);
    if (const auto* by = std::get_if<StockShort>(&*answer)) {
      json.field("available", by->available).field("reserved", by->reserved);
    } else {
      put_parts(json.field("qty", sum_of(*said.parts)), *said.parts);
    }
  }
  out += json.end_object().line();
}

void put_refusal(std::string& out, std::uint64_t number, const Error& error) {
  out += "? error " + std::string(error_name(error.code)) + " line " + std::to_string(number) + ": " +
         shown_message(error) + "\n";
}

void put_json_refusal(std::string& out, std::uint64_t number, const Error& error) {
  JsonWriter json(kSchema);
  json.key("id").null().field("line", number);
  put_error(json, error);
  out += json.end_object().line();
}

}  // namespace dlock
