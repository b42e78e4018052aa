// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/stock_garbage.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/stock/stock_nodes.h"

namespace dlock::zookeeper {
namespace {

constexpr std::size_t kRequestsAtOnce = 256;  ///< requests that wait for their answers
constexpr std::size_t kRemovalsAtOnce = 64;   ///< nodes that one transaction removes
constexpr std::int64_t kManyIds = 1'000'000;  ///< about half a gigabyte of a server's memory

/// As ask(), for any number of them.
Result<std::vector<Answer>> ask_all(StockSession& session, const std::vector<Request>& requests,
                                    const CallLimit& limit) {
  std::vector<Answer> all;
  for (std::size_t begin = 0; begin < requests.size(); begin += kRequestsAtOnce) {
    const std::size_t end = std::min(requests.size(), begin + kRequestsAtOnce);
    auto some = session.ask_until(std::vector<Request>(requests.begin() + static_cast<std::ptrdiff_t>(begin),
                                                       requests.begin() + static_cast<std::ptrdiff_t>(end)),
                                  limit);
    if (!some) return some.error();
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  return all;
}

/// By transactions of many, which cost the server's disk as much as one of one. What one of them is refused for goes by
/// itself, so that the others do.
Result<void> remove_all(StockSession& session, const std::vector<Change>& removals, const CallLimit& limit) {
  std::vector<Request> together;
  for (std::size_t begin = 0; begin < removals.size(); begin += kRemovalsAtOnce) {
    const std::size_t end = std::min(removals.size(), begin + kRemovalsAtOnce);
    together.push_back(ask_change(
        {removals.begin() + static_cast<std::ptrdiff_t>(begin), removals.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  const auto answers = ask_all(session, together, limit);
  if (!answers) return answers.error();
  std::vector<Request> single;
  for (std::size_t i = 0; i < together.size(); ++i) {
    if ((*answers)[i].code == Code::kOk || together[i].changes.size() == 1) continue;
    for (const Change& one : together[i].changes) {
      single.push_back(ask_change({one}));
    }
  }
  const auto rest = ask_all(session, single, limit);
  return rest ? Result<void>() : rest.error();
}

/// The children of all of these, with their whole paths.
Result<std::vector<std::string>> below(StockSession& session, const std::vector<std::string>& directories,
                                       const CallLimit& limit) {
  std::vector<Request> lists;
  for (const std::string& directory : directories) lists.push_back(ask_list(directory));
  const auto answers = ask_all(session, lists, limit);
  if (!answers) return answers.error();
  std::vector<std::string> found;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    for (const std::string& child : (*answers)[i].children) found.push_back(directories[i] + "/" + child);
  }
  return found;
}

struct Life {
  LockName name;
  std::string path;
  bool lives = false;
};

Result<std::vector<Life>> all_lives(StockSession& session, const CallLimit& limit) {
  const std::string directory = own_directory(session.root(), kStockData);
  const auto synced = session.ask(ask_sync(directory), limit);
  if (!synced) return synced.error();
  const auto paths = below(session, {directory}, limit);
  if (!paths) return paths.error();
  std::vector<Life> found;
  for (const std::string& path : *paths) {
    const auto name = session.ask(ask_data(path), limit);
    if (!name) return name.error();
    auto parsed = LockName::parse(name->data);
    if (name->code != Code::kOk || !parsed) continue;
    const auto head = session.ask(ask_data(stock_path(session.root(), *parsed)), limit);
    if (!head) return head.error();
    const auto seen = parse_head(head->data);
    // One whose head makes no sense may still be put right.
    const bool lives = head->code != Code::kNoNode && (!seen || life_path(session.root(), seen->life) == path);
    found.push_back({std::move(*parsed), path, lives});
  }
  return found;
}

/// How many of its requests are old, and unless it is a dry run gone now.
Result<int> forget_requests(StockSession& session, const std::string& life, bool dry_run, const CallLimit& limit) {
  const Change tick = set_node(life + kOpen, "");
  const auto now = session.ask(ask_change({tick}), limit);
  if (!now) return now.error();
  if (now->code != Code::kOk) return 0;
  const std::int64_t kept = std::chrono::floor<std::chrono::milliseconds>(kRequestKept).count();
  const std::int64_t oldest = now->changed.front().stat.mtime - kept;
  int count = 0;
  for (int directory = 0; directory < kRequestDirectories; ++directory) {
    const auto paths = below(session, {requests_path(life, directory)}, limit);
    if (!paths) return paths.error();
    std::vector<Request> reads;
    for (const std::string& path : *paths) reads.push_back(ask_data(path));
    const auto notes = ask_all(session, reads, limit);
    if (!notes) return notes.error();
    std::vector<Change> removals;
    for (std::size_t i = 0; i < paths->size(); ++i) {
      const Answer& note = (*notes)[i];
      const auto seen = parse_note(note.data);
      if (note.code != Code::kOk || !seen || note.stat.mtime >= oldest) continue;
      if (seen->record.state != RequestRecord::State::kReserved)
        removals.push_back(delete_node((*paths)[i], note.stat.version));
    }
    count += static_cast<int>(removals.size());
    if (dry_run) continue;
    if (const auto removed = remove_all(session, removals, limit); !removed) return removed.error();
  }
  return count;
}

}  // namespace

Result<void> remove_tree(StockSession& session, const std::string& path, const CallLimit& limit) {
  std::vector<std::vector<std::string>> levels{{path}};
  while (!levels.back().empty()) {
    auto next = below(session, levels.back(), limit);
    if (!next) return next.error();
    levels.push_back(std::move(*next));
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    std::vector<Change> removals;
    for (const std::string& node : *level) removals.push_back(delete_node(node));
    if (auto removed = remove_all(session, removals, limit); !removed) return removed;
  }
  return {};
}

Result<std::vector<Swept>> sweep_stocks(StockSession& session, bool dry_run, const CallLimit& limit) {
  const auto lives = all_lives(session, limit);
  if (!lives) return lives.error();
  std::vector<Swept> swept;
  for (const Life& life : *lives) {
    if (life.lives) {
      const auto old = forget_requests(session, life.path, dry_run, limit);
      if (!old) return old.error();
      if (*old > 0) swept.push_back({life.name, "requests to its stock, older than 30 days: " + std::to_string(*old)});
      continue;
    }
    if (!dry_run) {
      if (const auto removed = remove_tree(session, life.path, limit); !removed) return removed.error();
    }
    swept.push_back({life.name, "what a dropped stock has left"});
  }
  return swept;
}

std::vector<Finding> diagnose_stocks(StockSession& session, const CallLimit& limit) {
  const auto lives = all_lives(session, limit);
  if (!lives || lives->empty()) return {};
  std::vector<Request> counts;
  for (const Life& life : *lives) {
    for (int i = 0; i < kRequestDirectories; ++i) {
      counts.push_back(ask_stat(requests_path(life.path, i)));
    }
  }
  const auto answers = ask_all(session, counts, limit);
  if (!answers) return {};
  std::int64_t ids = 0;
  for (const Answer& answer : *answers) ids += answer.stat.children;
  const std::string what = session.store() + ": requests that its stocks remember: " + std::to_string(ids);
  if (ids <= kManyIds) return {Finding::ok(what)};
  return {Finding::warn(
      what, "each takes half a kilobyte of every server's memory; dlock gc forgets those older than 30 days")};
}

}  // namespace dlock::zookeeper
