// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/report.h"

#include <algorithm>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

constexpr std::size_t kPromiseColumn = 44;
constexpr std::size_t kTriedColumn = 22;
constexpr std::size_t kMostLines = 24;  ///< of one breach's history

std::string padded(std::string text, std::size_t columns) {
  const std::size_t width = display_width(text);
  return text + std::string(width < columns ? columns - width : 1, ' ');
}

std::string fault_counts(const VerifyReport& report) {
  std::string text;
  for (const auto& [fault, count] : report.faults) {
    text += (text.empty() ? "" : ", ") + std::string(fault_name(fault)) + ' ' + std::to_string(count);
  }
  if (text.empty()) text = "none";
  if (report.missed > 0) text += "; " + std::to_string(report.missed) + " found nobody to hit";
  return text;
}

std::string breach_text(const Judgement& judgement, const Look& look) {
  const Breach& first = judgement.breaches.front();
  std::string text =
      painted("BROKEN", Paint::kRed, look.colour) + "  " + judgement.promise + ": " + printable(first.what) + '\n';
  const std::size_t hidden = first.history.size() > kMostLines ? first.history.size() - kMostLines : 0;
  if (hidden > 0) text += "    ... " + std::to_string(hidden) + " lines before\n";
  for (std::size_t i = hidden; i < first.history.size(); ++i) text += "    " + printable(first.history[i], 160) + '\n';
  const std::size_t more = judgement.breaches.size() - 1;
  return more > 0 ? text + "    and " + std::to_string(more) + " more\n" : text;
}

void put_texts(JsonWriter& json, const char* key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

}  // namespace

bool VerifyReport::held() const {
  return std::all_of(judgements.begin(), judgements.end(), [](const Judgement& one) { return one.breaches.empty(); });
}

std::string verify_text(const VerifyReport& report, const Look& look) {
  std::string text = painted(report.store, Paint::kBold, look.colour) + "  " + human_duration(report.took) + ", " +
                     std::to_string(report.workers) + " workers, ttl " + human_duration(report.ttl) + ", seed " +
                     std::to_string(report.seed) + (report.interrupted ? ", interrupted" : "") + "\n\n";
  for (const Judgement& judgement : report.judgements) {
    const bool broken = !judgement.breaches.empty();
    const std::string answer =
        broken ? painted("BROKEN " + std::to_string(judgement.breaches.size()) + " times", Paint::kRed, look.colour)
        : judgement.tried == 0 ? painted("not seen", Paint::kYellow, look.colour)
                               : painted("held", Paint::kGreen, look.colour);
    text += "  " + padded(judgement.promise, kPromiseColumn) +
            padded(std::to_string(judgement.tried) + ' ' + judgement.unit, kTriedColumn) + answer + '\n';
  }
  for (const std::string& one : report.not_promised) text += "  not promised here: " + one + '\n';
  text += "\nfaults     " + fault_counts(report) + '\n';
  for (const std::string& one : report.not_tried) text += "not tried  " + one + '\n';
  text += "hand-over  " + percentile_text(report.gaps.hand_over) + '\n';
  for (const auto& [what, latencies] : report.gaps.recovery) {
    text += "free after " + padded(what, 12) + percentile_text(latencies) + '\n';
  }
  if (report.torn > 0) text += std::to_string(report.torn) + " lines of the history could not be read\n";
  for (const Judgement& judgement : report.judgements) {
    if (!judgement.breaches.empty()) text += '\n' + breach_text(judgement, look);
  }
  text += '\n' +
          (report.held() && report.interrupted ? painted("held until it was interrupted", Paint::kYellow, look.colour)
           : report.held()                     ? painted("held", Paint::kGreen, look.colour)
                           : painted("broken", Paint::kRed, look.colour) + ": --seed " + std::to_string(report.seed) +
                                 " repeats the schedule") +
          '\n';
  return text;
}

std::string verify_json(const VerifyReport& report) {
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.verify/2").key("store").text(report.store);
  json.key("held").boolean(report.held()).key("interrupted").boolean(report.interrupted);
  json.key("seed").text(std::to_string(report.seed)).key("took_ms").whole_ms(report.took);
  json.key("ttl_ms").whole_ms(report.ttl).key("workers").number(report.workers).key("promises").begin_array();
  for (const Judgement& judgement : report.judgements) {
    json.begin_object()
        .key("promise")
        .text(judgement.name)
        .key("tried")
        .number(static_cast<std::int64_t>(judgement.tried));
    json.key("broken").number(static_cast<std::int64_t>(judgement.breaches.size())).key("first");
    if (judgement.breaches.empty()) {
      json.null();
    } else {
      json.begin_object().key("what").text(judgement.breaches.front().what);
      put_texts(json, "history", judgement.breaches.front().history);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  put_texts(json, "not_promised", report.not_promised);
  put_texts(json, "not_tried", report.not_tried);
  json.key("faults").begin_object();
  for (const auto& [fault, count] : report.faults) json.key(fault_name(fault)).number(count);
  json.end_object().key("missed").number(report.missed).key("hand_over");
  put_latencies(json, report.gaps.hand_over);
  json.key("recovery").begin_object();
  for (const auto& [what, latencies] : report.gaps.recovery) {
    json.key(what);
    put_latencies(json, latencies);
  }
  return json.end_object().end_object().line();
}

}  // namespace dlock
