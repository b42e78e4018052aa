// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/rows/row_drafts.h"
#include "backends/zookeeper/rows/row_groups.h"
#include "backends/zookeeper/rows/row_moment.h"
#include "backends/zookeeper/rows/row_nodes.h"
#include "backends/zookeeper/rows/row_session.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/base/random.h"
#include "lib/rows/commit_pieces.h"

namespace dlock {
namespace zookeeper {
namespace {

using NodeChange = zookeeper::Change;  ///< beside Rows::Change
using namespace std::chrono_literals;
using RowChange = Rows::Change::Kind;

constexpr std::size_t kMostTogether = 256;  ///< commits of one transaction: a tenth of what a server takes
constexpr Duration kRacePause = 1ms;
constexpr int kMostRacePauses = 6;

class ZookeeperRows final : public Rows {
 public:
  ZookeeperRows(Ensemble ensemble, const RowSpace& space, const Runtime& runtime)
      : session_(std::move(ensemble), runtime), groups_(session_, space) {}

  const std::string& store() const override { return session_.store(); }
  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override;
  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override;
  Result<std::vector<LockName>> groups(const CallLimit& limit) override { return groups_.all(limit); }
  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell tell,
                                          const CallLimit& limit) override;
  Result<bool> listen(const LockName& group, const std::string& key, const CallLimit& limit) override;
  void add_interest(std::vector<pollfd>& fds) const override { session_.add_interest(fds); }
  bool heard() override { return session_.heard(); }

 private:
  Result<std::vector<Number>> commit_some(const LockName& name, std::span<const Commit> some, const CallLimit& limit);
  Result<RowDrafts> drafts(std::span<const Commit> some, bool freshly, const CallLimit& limit);
  std::vector<NodeChange> changes(const RowDrafts& rows, bool clears) const;
  void add_tells(std::vector<NodeChange>& all, const std::set<std::string>& told) const;
  Result<void> write(const LockName& name, const std::vector<NodeChange>& all, std::int64_t& zxid, bool& again,
                     const CallLimit& limit);
  Result<void> race(const LockName& name, int races, const CallLimit& limit);

  RowSession session_;
  RowGroups groups_;
};

/// Everything is read twice: what was the same both times was so in between, and the sync says that this is now.
Result<Rows::Look> ZookeeperRows::read(const LockName& group, std::span<const std::string> keys,
                                       const CallLimit& limit) {
  for (int races = 0;; ++races) {
    TRY(race(group, races, limit));
    Look look;
    TRY_ASSIGN(const bool found, groups_.find(group, limit));
    if (!found) {
      look.rows.resize(keys.size());
      return look;
    }
    std::vector<Request> requests{ask_sync(groups_.live())};
    const bool twice = keys.size() > 1;
    for (std::size_t i = 0; i < (twice ? 2 : 1) * keys.size(); ++i) {
      requests.push_back(ask_data(groups_.path_of(keys[i % keys.size()])));
    }
    requests.push_back(ask_stat(groups_.live()));
    TRY_ASSIGN(const auto answers, session_.ask(requests, limit));
    if (answers.back().code == Code::kNoNode) {  // cleared since
      groups_.forget();
      continue;
    }
    const auto nodes = std::span(answers).subspan(1, requests.size() - 2);
    const auto shown = at_one_moment(nodes.first(keys.size()), nodes.last(keys.size()));
    if (shown.size() < keys.size()) continue;
    for (const Answer* one : shown) {
      look.rows.push_back(groups_.row_of(*one));
      if (one->code == Code::kOk) session_.leader().at_least(one->stat.mtime, session_.now());
    }
    look.now_us = session_.leader().time(session_.now()).value_or(0) * 1000;
    return look;
  }
}

/// A change without meaning tells the leader's time.
Result<std::vector<std::string>> ZookeeperRows::list(const LockName& group, const std::string& prefix,
                                                     const CallLimit& limit) {
  std::vector<std::string> keys;
  for (int races = 0;; ++races) {
    TRY(race(group, races, limit));
    TRY_ASSIGN(const bool found, groups_.find(group, limit));
    if (!found) return keys;
    std::vector<Request> requests{ask_change({set_node(groups_.live(), "")})};
    for (const std::string& one : row_directories(groups_.life(), groups_.space(), prefix))
      requests.push_back(ask_list(one));
    auto asked = session_.ask(requests, limit);
    if (!asked && asked.error().code == ErrorCode::kDenied) {  // who may only look learns no time
      requests.front() = ask_sync(groups_.live());
      asked = session_.ask(requests, limit);
    }
    TRY_ASSIGN(const auto answers, std::move(asked));
    if (answers.front().code == Code::kNoNode) {
      groups_.forget();
      continue;
    }
    if (answers.front().code == Code::kOk && !answers.front().changed.empty()) {
      session_.leader().seen(answers.front().changed.front().stat.mtime, session_.now());
    }
    for (std::size_t i = 1; i < answers.size(); ++i) {
      for (const std::string& child : answers[i].children) {
        if (auto key = row_of_part(prefix, child)) keys.push_back(std::move(*key));
      }
    }
    return keys;
  }
}

std::vector<Result<Rows::Number>> ZookeeperRows::commit_each(const LockName& group, std::span<const Commit> commits,
                                                             Tell /*tell*/, const CallLimit& limit) {
  return commit_in_pieces(commits, kMostTogether, [&](auto some) { return commit_some(group, some, limit); });
}

/// Each is decided on what those before it leave, and all that fit go in one transaction, at the versions that were
/// read. After a lost race all of it begins again; nothing was done.
Result<std::vector<Rows::Number>> ZookeeperRows::commit_some(const LockName& name, std::span<const Commit> some,
                                                             const CallLimit& limit) {
  const auto asks_time = [](const Commit& commit) {
    return std::any_of(commit.begin(), commit.end(), [](const Change& one) { return one.kind == RowChange::kBefore; });
  };
  if (std::any_of(some.begin(), some.end(), asks_time))
    return Error{ErrorCode::kUnsupported, store() + " does not know the time of a change before it is made"};
  bool freshly = false;
  for (int races = 0;; ++races) {
    TRY(race(name, races, limit));
    TRY_ASSIGN(const bool found, groups_.find(name, limit));
    std::vector<Number> numbers(some.size(), 0);
    if (!found) {
      if (std::none_of(some.begin(), some.end(), relies_on_nothing)) return numbers;
      TRY(groups_.make(name, limit));
      continue;
    }
    TRY_ASSIGN(auto rows, drafts(some, freshly, limit));
    bool clears = false, any = false;
    std::set<std::string> told;
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (clears || !apply(rows, some[i])) continue;
      clears =
          std::any_of(some[i].begin(), some[i].end(), [](const Change& one) { return one.kind == RowChange::kClear; });
      numbers[i] = 1;
      any = true;
      for (const Change& one : some[i]) {
        if (one.kind == RowChange::kTell) told.insert(one.key);
      }
    }
    if (!groups_.is_known()) continue;  // cleared since
    // What is refused is not refused by what was long ago.
    const bool refuses = std::find(numbers.begin(), numbers.end(), Number(0)) != numbers.end();
    if (refuses && !std::exchange(freshly, true)) {
      races = -1;
      continue;
    }
    if (!any) return numbers;
    std::int64_t zxid = 0;
    bool again = false;
    const std::string life = groups_.life();
    const std::int64_t ahead = groups_.ahead();
    auto all = changes(rows, clears);
    if (!clears) add_tells(all, told);
    TRY(write(name, all, zxid, again, limit));
    freshly = again;  // the answer to a write that was refused is not from long ago
    if (again) continue;
    for (Number& number : numbers) number = number == 0 ? 0 : static_cast<Number>(ahead + zxid);
    if (clears) {
      groups_.forget();
      (void)remove_tree(session_, life, limit);  // the rest is left to gc
    }
    return numbers;
  }
}

/// The rows that these commits are about; freshly: after a sync.
Result<RowDrafts> ZookeeperRows::drafts(std::span<const Commit> some, bool freshly, const CallLimit& limit) {
  RowDrafts rows;
  for (const Commit& commit : some) {
    for (const Change& one : commit) {
      if (is_of_row(one)) rows[one.key];
    }
  }
  std::vector<Request> requests;
  if (freshly) requests.push_back(ask_sync(groups_.live()));
  requests.push_back(ask_stat(groups_.live()));
  for (const auto& [key, row] : rows) requests.push_back(ask_data(groups_.path_of(key)));
  TRY_ASSIGN(const auto answers, session_.ask(requests, limit));
  std::size_t i = freshly ? 2 : 1;
  if (answers[i - 1].code == Code::kNoNode) groups_.forget();
  for (auto& [key, row] : rows) {
    const Answer& answer = answers[i++];
    if (answer.code == Code::kOk && groups_.is_known()) {
      row = {true, answer.stat, groups_.number_of(answer.stat.mzxid), true, answer.data};
    }
  }
  return rows;
}

/// The first one says whether the group still is what it was, or where no other change has a stat tells the
/// transaction's number.
std::vector<NodeChange> ZookeeperRows::changes(const RowDrafts& rows, bool clears) const {
  std::vector<NodeChange> all = changes_of(rows, [&](const std::string& key) { return groups_.path_of(key); });
  const bool told =
      std::any_of(all.begin(), all.end(), [](const NodeChange& one) { return one.kind == NodeChange::Kind::kSet; });
  all.insert(all.begin(), told && !clears ? check_node(groups_.live(), -1) : set_node(groups_.live(), ""));
  if (!clears) return all;
  all.push_back(delete_node(groups_.path()));
  all.push_back(delete_node(groups_.live()));
  return all;
}

/// Whoever listens watches a node that is made and removed at once.
void ZookeeperRows::add_tells(std::vector<NodeChange>& all, const std::set<std::string>& told) const {
  for (const std::string& key : told) {
    all.push_back(create_node(told_path(groups_.life(), key), ""));
    all.push_back(delete_node(told_path(groups_.life(), key)));
  }
}

Result<bool> ZookeeperRows::listen(const LockName& group, const std::string& key, const CallLimit& limit) {
  TRY_ASSIGN(const bool found, groups_.find(group, limit));
  if (!found) return false;
  return session_.listen(told_path(groups_.life(), key), limit);
}

Result<void> ZookeeperRows::write(const LockName& name, const std::vector<NodeChange>& all, std::int64_t& zxid,
                                  bool& again, const CallLimit& limit) {
  TRY_ASSIGN(const auto answer, session_.ask(ask_change(all), limit));
  if (answer.code == Code::kOk) {
    for (const Answer::Changed& one : answer.changed) {
      if (one.stat.mzxid == 0) continue;
      zxid = one.stat.mzxid;
      session_.leader().seen(one.stat.mtime, session_.now());
    }
    return {};
  }
  std::size_t at = 0;
  while (at < answer.changed.size() && answer.changed[at].code == Code::kOk) ++at;
  again = true;
  if (answer.code == Code::kNoNode && at < all.size() && all[at].kind == NodeChange::Kind::kCreate)
    return session_.make_room(all, limit);
  if (at == 0) groups_.forget();
  for (const Code race : {Code::kBadVersion, Code::kNodeExists, Code::kNoNode, Code::kNotEmpty}) {
    if (answer.code == race) return {};
  }
  return unexpected(ErrorCode::kUnavailable, answer.code, store(), "does not change " + name.text());
}

Result<void> ZookeeperRows::race(const LockName& name, int races, const CallLimit& limit) {
  if (races == 0) return {};
  const TimePoint now = session_.now();
  if (now >= limit.until) {
    return crowd_at(store(), name);
  }
  return session_.pause(std::min(limit.until, now + jitter(kRacePause * (1 << std::min(races, kMostRacePauses)))), "",
                        limit);
}

}  // namespace

std::unique_ptr<Rows> make_rows(Ensemble ensemble, const RowSpace& space, const Runtime& runtime) {
  return std::make_unique<ZookeeperRows>(std::move(ensemble), space, runtime);
}

}  // namespace zookeeper

Result<std::unique_ptr<Rows>> make_zookeeper_rows(const BackendUrl& url, const RowSpace& space,
                                                  const Runtime& runtime) {
  TRY_ASSIGN(auto ensemble, zookeeper::Ensemble::of(url, runtime.clock));
  return zookeeper::make_rows(std::move(ensemble), space, runtime);
}

}  // namespace dlock
