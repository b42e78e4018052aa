// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/rows/rows.h"

#include <algorithm>
#include <chrono>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/rows/script_calls.h"
#include "backends/redis/rows/scripts.h"
#include "lib/base/text.h"

namespace dlock {
namespace redis {
namespace {

using namespace std::chrono_literals;
using Kind = Rows::Change::Kind;

constexpr Duration kConnectTimeout = 5s;
constexpr std::size_t kMostInOneScript = 128;  ///< others wait for less than two milliseconds during it
constexpr std::size_t kMostInOneRead = 1000;   ///< of the rows that are many
constexpr std::string_view kHex = "x:";

/// A name as a hash tag: one with braces would end it too early.
std::string tag_of(std::string_view name) {
  if (name.find_first_of("{}") == std::string_view::npos && !name.starts_with(kHex)) return std::string(name);
  return std::string(kHex) + hex(name);
}

std::optional<std::string> name_of_tag(std::string_view tag) {
  if (!tag.starts_with(kHex)) return std::string(tag);
  return from_hex(tag.substr(kHex.size()));
}

/// Characters that a pattern of Redis takes for more than themselves.
std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// "VERSION text"; one that is older than `first` was a row of an earlier group of that name. What another program
/// wrote has version 1.
Rows::Row row_of(const Reply& reply, Rows::Number first = 0) {
  std::string_view text = reply.text;
  if (reply.is_text() && (text.empty() || text[0] < '0' || text[0] > '9')) return {reply.text, 1, 1};
  const auto version = reply.is_text() ? leading_number<Rows::Number>(cut(text, ' ')) : 0;
  if (version == 0 || version < first) return {};
  return {std::string(text), version, static_cast<std::int64_t>(version)};
}

class RedisRows final : public Rows {
 public:
  RedisRows(std::unique_ptr<Deployment> deployment, std::string store, const RowSpace& space, ReplicaDemand replicas,
            const Runtime& runtime)
      : store_(store),
        space_(space),
        prefix_("dlock:" + std::string(space.name) + ":{"),
        calls_(std::move(deployment), std::move(store), replicas, runtime.clock),
        clock_(runtime.clock) {}

  const std::string& store() const override { return store_; }

  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    Command command = calls_.script(rows_scripts::kRead);
    command.insert(command.end(), {"", key_of(group)});
    for (const std::string& key : keys) {
      if (is_many(key)) command.push_back(key_of(group) + ":" + key);
    }
    command[2] = std::to_string(command.size() - 3);
    for (const std::string& key : keys) {
      if (!is_many(key)) command.push_back(key);
    }
    std::vector<Command> one;
    one.push_back(std::move(command));
    TRY_ASSIGN(const auto replies, calls_.exchange(key_of(group), std::move(one), limit, space_.sure_reads));
    return look_of(replies.front(), keys);
  }

  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override {
    if (is_many(prefix)) return list_many(group, prefix, limit);
    TRY_ASSIGN(const auto reply, ask(group, {"HKEYS", key_of(group)}, limit));
    std::vector<std::string> keys;
    for (const Reply& one : reply.elements) {
      if (one.text.starts_with(prefix)) keys.push_back(one.text);
    }
    return keys;
  }

  Result<std::vector<LockName>> groups(const CallLimit& limit) override {
    const auto name_of = [this](std::string_view key) -> std::optional<std::string> {
      if (!key.starts_with(prefix_) || key.find('}') != key.size() - 1) return std::nullopt;
      return name_of_tag(key.substr(prefix_.size(), key.size() - prefix_.size() - 1));
    };
    return names_of(calls_.deployment(), {prefix_ + "*}", name_of}, store_, clock_, limit.until,
                    limit.until - clock_.now(), limit.control);
  }

  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell /*tell*/,
                                          const CallLimit& limit) override {
    std::vector<Result<Number>> answers;
    answers.reserve(commits.size());
    while (answers.size() < commits.size()) {
      const auto rest = commits.subspan(answers.size());
      commit_some(group, rest.first(std::min(rest.size(), kMostInOneScript)), limit, answers);
      if (!answers.back()) answers.resize(commits.size(), Result<Number>(answers.back().error()));
    }
    return answers;
  }

 private:
  std::string key_of(const LockName& group) const { return prefix_ + tag_of(group.text()) + "}"; }
  bool is_many(std::string_view key) const { return !space_.many.empty() && key.starts_with(space_.many); }

  Result<Reply> ask(const LockName& group, Command command, const CallLimit& limit) {
    TRY_ASSIGN(auto replies, calls_.deployment().call(key_of(group), {std::move(command)}, limit.until, limit.control));
    if (auto error = error_of(replies.front(), store_)) return *error;
    return std::move(replies.front());
  }

  Result<Look> look_of(const Reply& reply, std::span<const std::string> keys) const {
    if (auto error = error_of(reply, store_)) return *error;
    if (reply.elements.size() != 3 || reply.elements[1].elements.empty()) return not_understood(store_);
    const auto& fields = reply.elements[1].elements;
    const auto& many = reply.elements[2].elements;
    if (fields.size() + many.size() != keys.size() + 1) return not_understood(store_);
    std::string_view numbers = fields[0].text;
    cut(numbers, ' ');
    const auto first = fields[0].is_text() ? leading_number<Number>(numbers) : ~Number(0);
    Look look{{}, leading_number<std::int64_t>(reply.elements[0].text)};
    std::size_t field = 1, other = 0;
    for (const std::string& key : keys) {
      look.rows.push_back(is_many(key) ? row_of(many[other++], first) : row_of(fields[field++]));
    }
    return look;
  }

  /// Those of an earlier group of that name are left out.
  Result<std::vector<std::string>> list_many(const LockName& group, const std::string& prefix, const CallLimit& limit) {
    const std::string base = key_of(group) + ":";
    std::vector<std::string> keys;
    std::string cursor = "0";
    do {
      TRY_ASSIGN(const auto page,
                 ask(group, {"SCAN", cursor, "MATCH", literal(base + prefix) + "*", "COUNT", "1000"}, limit));
      if (page.elements.size() != 2) return not_understood(store_);
      cursor = page.elements[0].text;
      for (const Reply& key : page.elements[1].elements) {
        if (key.text.starts_with(base + prefix)) keys.push_back(key.text.substr(base.size()));
      }
    } while (cursor != "0");
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return those_that_are(group, keys, limit);
  }

  Result<std::vector<std::string>> those_that_are(const LockName& group, const std::vector<std::string>& keys,
                                                  const CallLimit& limit) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < keys.size(); at += kMostInOneRead) {
      const auto some = std::span(keys).subspan(at, std::min(kMostInOneRead, keys.size() - at));
      TRY_ASSIGN(const auto look, read(group, some, limit));
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (look.rows[i].version != 0) found.push_back(some[i]);
      }
    }
    return found;
  }

  void commit_some(const LockName& group, std::span<const Commit> some, const CallLimit& limit,
                   std::vector<Result<Number>>& answers) {
    const std::string key = key_of(group);
    Command command = calls_.script(rows_scripts::kCommit);
    command.insert(command.end(), {"", key});
    for (const Commit& one : some) {
      for (const Change& change : one) {
        if (is_many(change.key)) command.push_back(key + ":" + change.key);
      }
    }
    command[2] = std::to_string(command.size() - 3);
    command.push_back(ms_text(space_.kept));
    for (const Commit& one : some) add_words(command, one);
    std::vector<Command> script;
    script.push_back(std::move(command));
    const auto replies = calls_.exchange(key, std::move(script), limit);
    if (!replies) return answers.push_back(replies.error());
    if (auto error = error_of(replies->front(), store_)) return answers.push_back(std::move(*error));
    for (const Reply& one : replies->front().elements) answers.push_back(number_of(one));
    if (replies->front().elements.empty()) answers.push_back(not_understood(store_));
  }

  void add_words(Command& command, const Commit& commit) const {
    command.push_back(std::to_string(
        std::count_if(commit.begin(), commit.end(), [](const Change& one) { return one.kind != Kind::kTell; })));
    for (const Change& one : commit) {
      if (one.kind == Kind::kTell) continue;
      const bool puts = one.kind == Kind::kPut || one.kind == Kind::kFill;
      const bool many = is_many(one.key);
      std::string word(1, !many                       ? (puts ? '=' : static_cast<char>(one.kind))
                          : puts                      ? 'P'
                          : one.kind == Kind::kRemove ? 'R'
                                                      : 'C');
      if (one.kind == Kind::kFill) word += '_';
      else if (one.kind != Kind::kAdd && one.kind != Kind::kClear) word += std::to_string(one.version);
      command.push_back(std::move(word));
      if (!many && one.kind != Kind::kClear && one.kind != Kind::kBefore) command.push_back(one.key);
      if (puts) command.push_back(one.text);
      if (one.kind == Kind::kAdd) command.push_back(numbers_text(one.add));
    }
  }

  Result<Number> number_of(const Reply& one) const {
    if (const auto number = whole_number<Number>(one.text)) return *number;
    if (auto error = error_of({Reply::Kind::kError, one.text, 0, {}}, store_)) return std::move(*error);
    return not_understood(store_);
  }

  const std::string store_;
  const RowSpace space_;
  const std::string prefix_;
  ScriptCalls calls_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<Rows> make_rows(std::unique_ptr<Deployment> deployment, std::string store, const RowSpace& space,
                                const ReplicaDemand& replicas, const Runtime& runtime) {
  return std::make_unique<RedisRows>(std::move(deployment), std::move(store), space, replicas, runtime);
}

}  // namespace redis

Result<std::unique_ptr<Rows>> make_redis_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime) {
  const std::string what(space.name);
  if (url.scheme == "redlock") {
    return Error{ErrorCode::kUnsupported,
                 "redlock:// keeps no " + what +
                     ": a majority of independent servers can agree on who holds a lock, but not on how many items are "
                     "left",
                 "keep the " + what + " on one server (redis://), on a cluster, or in a database"};
  }
  if (url.param("layout") == "redisson" && what == "stock") {
    return Error{ErrorCode::kUnsupported, "Redisson has no " + what + ": layout=redisson is for locks",
                 "leave layout=redisson out of its URL"};
  }
  TRY_ASSIGN(auto deployment, redis::redis_deployment(url, runtime.clock, redis::kConnectTimeout));
  return redis::make_rows(std::move(deployment), url.redacted(), space, redis::redis_replicas(url), runtime);
}

}  // namespace dlock
