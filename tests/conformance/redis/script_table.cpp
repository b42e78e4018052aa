// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/redis/script_table.h"

#include <unistd.h>

#include <algorithm>

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> words_of_row(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (word == "''") word.clear();
    for (char& c : word) {
      if (c == '_') c = ' ';
    }
    words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

}  // namespace

ScriptTable::ScriptTable(const std::string& url) : url_(BackendUrl::parse(url)) {
  REQUIRE(url_);
  auto server = single_deployment(*url_, clock_, 5s);
  REQUIRE(server);
  server_ = std::move(*server);
}

void ScriptTable::check(const ScriptRow& row) {
  INFO(std::string(row.what));
  begin();
  for (const char* command : row.before) ask(words(command));
  const std::string answer = shown(ask(command_of(words(row.script))));
  CHECK(answer == std::string(row.answer));
  CHECK(state() == std::string(row.after));
  Command removal{"DEL"};
  for (const auto& [name, key] : keys_) removal.push_back(key);
  ask(removal);
}

/// Another lock, and the time.
void ScriptTable::begin() {
  const auto name = LockName::parse("scripts-" + std::to_string(getpid()) + "-" + std::to_string(++rows_));
  REQUIRE(name);
  key_ = name->text();
  keys_ = keys_of(*name);
  const Reply time = ask({"TIME"});
  now_us_ = std::stoll(time.elements[0].text) * 1'000'000 + std::stoll(time.elements[1].text);
}

Reply ScriptTable::ask(const Command& command) {
  auto replies = server_->call(key_, {command}, clock_.now() + 10s, nullptr);
  REQUIRE(replies);
  INFO(words_of(replies->front()));
  REQUIRE(!replies->front().is_error());
  return std::move(replies->front());
}

std::vector<std::string> ScriptTable::words(const std::string& text) const {
  std::vector<std::string> words = words_of_row(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    if (i > 0) {
      for (const auto& [name, key] : keys_) {
        if (word == name) word = key;
      }
    }
    for (std::size_t at = word.find("{+"); at != std::string::npos; at = word.find("{+", at)) {
      const std::size_t end = word.find('}', at);
      word.replace(at, end + 1 - at, std::to_string(now_us_ / 1000 + std::stoll(word.substr(at + 2)) * 1000));
    }
    if (const auto at = word.find("{us}"); at != std::string::npos) word.replace(at, 4, std::to_string(now_us_));
  }
  return words;
}

std::string ScriptTable::state() {
  std::string all;
  for (const auto& [name, key] : keys_) {
    const std::string type = ask({"TYPE", key}).text;
    if (type == "none") continue;
    const Reply value = ask(type == "string" ? Command{"GET", key}
                            : type == "hash" ? Command{"HGETALL", key}
                            : type == "list" ? Command{"LRANGE", key, "0", "-1"}
                                             : Command{"ZRANGE", key, "0", "-1", "WITHSCORES"});
    all += (all.empty() ? "" : ", ") + name + " " + shown(value);
    if (const std::int64_t rest = ask({"PTTL", key}).integer; rest >= 0) all += " for " + number(rest);
  }
  return all;
}

std::string ScriptTable::shown(const Reply& reply) const {
  if (reply.kind == Reply::Kind::kInteger) return number(reply.integer);
  if (reply.kind != Reply::Kind::kArray) return text(reply.text);
  std::string all;
  for (const Reply& element : reply.elements) {
    const std::string one = shown(element);
    all += (all.empty() ? "" : " ") + (element.kind == Reply::Kind::kArray ? "[" + one + "]" : one);
  }
  return all;
}

std::string ScriptTable::text(const std::string& said) const {
  if (said.empty()) return "''";
  std::string all;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find_first_not_of("0123456789", at), said.size());
    if (end > at) all += number(std::stoll(said.substr(at, end - at)));
    else all += said[at] == ' ' ? '_' : said[at];
    at = std::max(end, at + 1);
  }
  return all;
}

/// As a row says it. Tests take less than 50 s.
std::string ScriptTable::number(std::int64_t n) const {
  constexpr std::int64_t kStep = 100'000;
  const auto rounded = [](std::int64_t ms) { return std::to_string((ms + kStep + kStep / 2) / kStep * 100 - 100); };
  if (std::llabs(n - now_us_) < 50'000'000) return "{us}";
  if (std::llabs(n - now_us_ / 1000) < 1'000'000) return "{+" + rounded(n - now_us_ / 1000) + "}";
  return n > 1000 && n < 10'000'000 ? rounded(n) + "s" : std::to_string(n);
}

}  // namespace dlock::redis
