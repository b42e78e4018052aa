// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_nodes.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

constexpr std::size_t kRequestsAtOnce = 256;  ///< requests that wait for their answers
constexpr std::size_t kRemovalsAtOnce = 64;   ///< nodes that one transaction removes
constexpr std::int64_t kManyIds = 1'000'000;  ///< about half a gigabyte of a server's memory

/// As ask(), for any number of them.
Result<std::vector<Answer>> ask_all(RowSession& session, const std::vector<Request>& requests, const CallLimit& limit) {
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
Result<void> remove_all(RowSession& session, const std::vector<Change>& removals, const CallLimit& limit) {
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
Result<std::vector<std::string>> below(RowSession& session, const std::vector<std::string>& directories,
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

/// FNV-1a, 32 bits, folded into one byte.
unsigned char directory_number(std::string_view key) {
  std::uint32_t hash = 2166136261;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<unsigned char>(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24);
}

std::string many_path(const std::string& life, unsigned char directory) { return life + "/" + hex({&directory, 1}); }

std::vector<std::string> many_paths(const std::string& life) {
  std::vector<std::string> paths;
  for (int i = 0; i < 256; ++i) paths.push_back(many_path(life, static_cast<unsigned char>(i)));
  return paths;
}

/// A row's name, which may be longer than a key's, as one part of a path.
std::string part_of(std::string_view row) {
  return row.empty() ? "%" : percent_escaped(row, [](unsigned char c) {
    return c != '/' && c != '%' && c > ' ' && c < 0x7f && c != '.';
  });
}

struct Life {
  LockName name;
  std::string path;
  bool lives = false;
};

Result<std::vector<Life>> all_lives(RowSession& session, const RowSpace& space, const CallLimit& limit) {
  const std::string directory = lives_path(session.root(), space.name);
  TRY(session.ask(ask_sync(directory), limit));
  TRY_ASSIGN(const auto paths, below(session, {directory}, limit));
  std::vector<Life> found;
  for (const std::string& path : paths) {
    TRY_ASSIGN(const auto answers, session.ask({ask_data(path), ask_stat(path + "/live")}, limit));
    auto name = LockName::parse_stored(answers[0].data);
    if (answers[0].code != Code::kOk || !name) continue;
    found.push_back({std::move(*name), path, answers[1].code != Code::kNoNode});
  }
  return found;
}

/// How many of its rows that are many are old, and unless it is a dry run gone now.
Result<int> forget_rows(RowSession& session, const std::string& life, Duration kept, bool dry_run,
                        const CallLimit& limit) {
  TRY_ASSIGN(const auto now, session.ask(ask_change({set_node(life + "/live", "")}), limit));
  if (now.code != Code::kOk) return 0;
  const std::int64_t oldest =
      now.changed.front().stat.mtime - std::chrono::floor<std::chrono::milliseconds>(kept).count();
  int count = 0;
  for (const std::string& directory : many_paths(life)) {
    TRY_ASSIGN(const auto paths, below(session, {directory}, limit));
    std::vector<Request> questions;
    for (const std::string& path : paths) questions.push_back(ask_stat(path));
    TRY_ASSIGN(const auto stats, ask_all(session, questions, limit));
    std::vector<Change> removals;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (stats[i].code == Code::kOk && stats[i].stat.mtime < oldest) {
        removals.push_back(delete_node(paths[i], stats[i].stat.version));
      }
    }
    count += static_cast<int>(removals.size());
    if (!dry_run) TRY(remove_all(session, removals, limit));
  }
  return count;
}

}  // namespace

std::string group_path(const std::string& root, std::string_view space, const LockName& group) {
  return own_directory(root, space) + "/" + one_part(group);
}

std::string lives_path(const std::string& root, std::string_view space) {
  return own_directory(root, std::string(space) + "-data");
}

std::string row_path(const std::string& life, const RowSpace& space, std::string_view key) {
  if (!space.many.empty() && key.starts_with(space.many)) {
    const auto row = key.substr(space.many.size());
    return many_path(life, directory_number(row)) + "/" + part_of(row);
  }
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return life + "/one/" + part_of(key);
  return life + "/one/" + part_of(key.substr(0, slash)) + "/" + part_of(key.substr(slash + 1));
}

std::string told_path(const std::string& life, std::string_view key) { return life + "/told-" + hex(key); }

std::vector<std::string> row_directories(const std::string& life, const RowSpace& space, const std::string& prefix) {
  if (prefix == space.many) return many_paths(life);
  return {life + "/one/" + part_of(std::string_view(prefix).substr(0, prefix.size() - 1))};
}

std::optional<std::string> row_of_part(const std::string& prefix, const std::string& part) {
  const auto row = part == "%" ? std::optional<std::string>("") : percent_unescaped(part);
  return row ? std::optional(prefix + *row) : std::nullopt;
}

Result<void> remove_tree(RowSession& session, const std::string& path, const CallLimit& limit) {
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

Result<std::vector<Swept>> sweep_rows(RowSession& session, const RowSpace& space, bool dry_run,
                                      const CallLimit& limit) {
  TRY_ASSIGN(const auto lives, all_lives(session, space, limit));
  const std::string word(space.name);
  std::vector<Swept> swept;
  for (const Life& life : lives) {
    if (life.lives) {
      TRY_ASSIGN(const int old, forget_rows(session, life.path, space.kept, dry_run, limit));
      if (old > 0)
        swept.push_back({life.name, "requests to its " + word + ", older than 30 days: " + std::to_string(old)});
      continue;
    }
    if (!dry_run) TRY(remove_tree(session, life.path, limit));
    swept.push_back({life.name, "what a dropped " + word + " has left"});
  }
  return swept;
}

std::vector<Finding> diagnose_rows(RowSession& session, const RowSpace& space, const CallLimit& limit) {
  const auto lives = all_lives(session, space, limit);
  if (!lives || lives->empty()) return {};
  std::vector<Request> counts;
  for (const Life& life : *lives) {
    for (const std::string& path : many_paths(life.path)) counts.push_back(ask_stat(path));
  }
  const auto answers = ask_all(session, counts, limit);
  if (!answers) return {};
  std::int64_t ids = 0;
  for (const Answer& answer : *answers) ids += answer.stat.children;
  const std::string what =
      session.store() + ": requests that its " + std::string(space.name) + "s remember: " + std::to_string(ids);
  if (ids <= kManyIds) return {Finding::ok(what)};
  return {Finding::warn(
      what, "each takes half a kilobyte of every server's memory; dlock gc forgets those older than 30 days")};
}

}  // namespace dlock::zookeeper
