// SPDX-License-Identifier: Apache-2.0
// What runs are told, what they say, and how the history tells it.
#include "cmd/verify/driver.h"

namespace dlock {
namespace {

std::int64_t ms_count(Duration length) { return std::chrono::duration_cast<std::chrono::milliseconds>(length).count(); }

std::string_view mode_word(Mode mode) {
  return mode == Mode::kShared ? "shared" : mode == Mode::kPermits ? "permits" : "exclusive";
}

/// What the order asks for besides its lock.
std::string wish_words(const Order& order) {
  if (order.supersedes == Supersedes::kReplace) return " replace";
  if (order.supersedes == Supersedes::kNewest) return " newest";
  if (order.kept == Duration(0)) return {};
  return (order.slot.empty() ? " at-least " : " once " + order.slot + ' ') + std::to_string(ms_count(order.kept));
}

}  // namespace

std::string ask_words(const Order& order, bool proxied) {
  return order.key + ' ' + std::string(mode_word(order.mode)) + (order.fair ? " fair" : " any") +
         (proxied ? " proxied " : " direct ") + std::to_string(ms_count(order.ttl)) + wish_words(order);
}

std::vector<std::string> run_words(const Order& order, const std::string& url) {
  std::vector<std::string> words{
      "run",    "--backend",         url, "--ttl", ms_word(order.ttl), "--log-format", "json", "--progress",
      "always", "--connect-timeout", "2s"};
  if (order.fair) words.emplace_back("--fair");
  if (order.mode == Mode::kShared) words.emplace_back("--shared");
  if (order.mode == Mode::kPermits) words.insert(words.end(), {"--permits", std::to_string(kVerifyPermits)});
  if (order.supersedes == Supersedes::kReplace) words.emplace_back("--replace");
  if (order.supersedes == Supersedes::kNewest) words.emplace_back("--newest");
  if (!order.slot.empty()) words.insert(words.end(), {"--once", order.slot, "--remember", ms_word(order.kept)});
  else if (order.kept > Duration(0)) words.insert(words.end(), {"-n", "--at-least", ms_word(order.kept)});
  words.push_back(kVerifyPrefix + order.key);
  return words;
}

std::optional<Error> hook_failure(const std::string& phase, int status) {
  if (status == 0) return std::nullopt;
  Error error{ErrorCode::kSystem, "hook " + phase +
                                      (status > 128 ? " was ended by signal " + std::to_string(status - 128)
                                                    : " ended with " + std::to_string(status))};
  if (status != 126 && status != 127) return error;
  return Error{ErrorCode::kMisconfigured,
               error.message + (status == 127 ? ": its command was not found" : ": its command cannot be executed"),
               "--hook is a shell command, which gets " + phase + " as its last argument"};
}

bool says_that_it_waits(std::string_view said, bool in_line) {
  if (!in_line) return said.find("\"event\":\"waiting\"") != std::string_view::npos;
  constexpr std::string_view kInLine = " in line";  // "next in line", "3rd in line"; "3 in line" are others
  for (std::size_t at = said.find(kInLine); at != std::string_view::npos; at = said.find(kInLine, at + 1)) {
    if (at > 0 && said[at - 1] >= 'a' && said[at - 1] <= 'z') return true;
  }
  return false;
}

}  // namespace dlock
