// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/record.h"

#include <algorithm>
#include <map>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/scripts.h"
#include "lib/base/text.h"

namespace dlock::redis {

KeysOf companions(const std::string& suffix) {
  return {"dlock:*:" + suffix, [suffix](std::string_view key) { return name_of_companion(key, suffix); }};
}

Command page_command(const std::string& cursor, const KeysOf& keys) {
  return {"SCAN", cursor, "MATCH", keys.pattern, "COUNT", "500"};
}

std::optional<std::string> add_page(const Reply& page, const KeysOf& keys, std::set<LockName>& names) {
  if (page.kind != Reply::Kind::kArray || page.elements.size() != 2 || !page.elements[0].is_text()) return std::nullopt;
  for (const Reply& key : page.elements[1].elements) {
    const auto text = keys.name(key.text);
    auto name = text ? LockName::parse_stored(*text) : Result<LockName>(Error{});
    if (name) names.insert(std::move(*name));
  }
  return page.elements[0].text;
}

Result<std::vector<LockName>> names_of(Deployment& deployment, const KeysOf& keys, const std::string& store,
                                       Clock& clock, TimePoint until, Duration patience, Control* control) {
  const auto soon = [&] { return std::min(until, clock.now() + patience); };
  TRY_ASSIGN(const auto servers, deployment.all_servers(soon()));
  std::set<LockName> names;
  for (Connection* server : servers) {
    std::string cursor = "0";
    do {
      const TimePoint page_by = soon();
      TRY_ASSIGN(const auto replies, exchange(*server, {page_command(cursor, keys)}, clock, page_by, page_by, control));
      if (auto error = error_of(replies.front(), store)) return *error;
      auto next = add_page(replies.front(), keys, names);
      if (!next) return Error{ErrorCode::kUnavailable, store + " answered SCAN with nonsense"};
      cursor = std::move(*next);
    } while (cursor != "0");
  }
  return std::vector<LockName>(names.begin(), names.end());
}

Result<std::vector<LockName>> names_with_companion(Deployment& deployment, const std::string& suffix,
                                                   const std::string& store, const Runtime& runtime) {
  return names_of(deployment, companions(suffix), store, runtime.clock, runtime.clock.now() + kScanBudget,
                  runtime.patience, nullptr);
}

std::vector<Result<Reply>> call_each(Deployment& deployment, const std::vector<std::string>& keys,
                                     const std::vector<Command>& commands, const Runtime& runtime, TimePoint until) {
  std::vector<std::optional<Result<Reply>>> found(keys.size());
  const auto call_alone = [&](std::size_t i) {
    auto replies = deployment.call(keys[i], {commands[i]}, until, nullptr);
    if (replies) found[i].emplace(std::move(replies->front()));
    else found[i].emplace(replies.error());
  };
  std::map<Connection*, std::vector<std::size_t>> by_server;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Connection* server = deployment.current(keys[i]);
    if (server == nullptr) call_alone(i);
    else by_server[server].push_back(i);
  }
  for (const auto& [server, which] : by_server) {
    std::vector<Command> request;
    for (const std::size_t i : which) request.push_back(commands[i]);
    auto replies = exchange(*server, request, runtime.clock, until, until, nullptr);
    for (std::size_t n = 0; n < which.size(); ++n) {
      const bool refused = !replies || (*replies)[n].kind == Reply::Kind::kError;  // another server may be in charge
      if (refused) call_alone(which[n]);
      else found[which[n]].emplace(std::move((*replies)[n]));
    }
  }
  std::vector<Result<Reply>> all;
  for (auto& one : found) all.push_back(std::move(*one));
  return all;
}

std::int64_t add_record(Participant& participant, std::string_view record) {
  participant.token = FencingToken(static_cast<std::uint64_t>(leading_number<std::int64_t>(cut(record, ' '))));
  participant.since = from_ms(leading_number<std::int64_t>(cut(record, ' ')));
  const std::int64_t delay = leading_number<std::int64_t>(cut(record, ' '));
  const std::string_view entries = cut(record, ' ');
  participant.count = static_cast<int>(1 + std::count(entries.begin(), entries.end(), ','));
  add_who(participant, record, true);
  return delay;
}

}  // namespace dlock::redis
