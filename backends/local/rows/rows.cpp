// SPDX-License-Identifier: Apache-2.0
#include "backends/local/rows/rows.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/rows/sqlite.h"
#include "lib/base/unique_fd.h"
#include "lib/rows/commit_pieces.h"

namespace dlock {
namespace local {
namespace {

using namespace std::chrono_literals;
using ChangeKind = Rows::Change::Kind;

constexpr char kFile[] = "stock.db";
constexpr std::int64_t kVersion = 2;
constexpr std::size_t kMostInOneTransaction = 1000;  ///< others wait for less than 50 milliseconds during it

/// The store's clock is the boot clock and `ahead` of this boot, so that no step of the wall clock moves it; it begins
/// at the wall clock, and never before what it was.
constexpr const char* kTables[] = {
    "CREATE TABLE clock(one INTEGER PRIMARY KEY, boot TEXT NOT NULL, ahead INTEGER NOT NULL) STRICT",
    "CREATE TABLE held(key INTEGER PRIMARY KEY, space TEXT NOT NULL, name TEXT NOT NULL, last INTEGER NOT NULL, "
    "UNIQUE(space,name)) STRICT",
    "CREATE TABLE held_row(held INTEGER NOT NULL, row TEXT NOT NULL, version INTEGER NOT NULL, text TEXT NOT NULL, "
    "PRIMARY KEY(held,row)) STRICT, WITHOUT ROWID",
    "PRAGMA user_version=2",
};

std::string boot_id() {
  char text[64];
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  return size > 1 ? std::string(text, static_cast<std::size_t>(size) - 1) : std::string();
}

template <typename Time>
std::int64_t us(Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// Writers are alone, and readers see one moment, so nothing needs locks of its own.
class LocalRows final : public Rows {
 public:
  LocalRows(LocalContext context, const RowSpace& space)
      : context_(std::move(context)), space_(space.name), durable_(context_.settings.durable_stock) {}

  const std::string& store() const override { return context_.settings.store; }

  Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) override {
    Look look;
    look.rows.resize(keys.size());
    TRY(in_transaction(false, limit, [&] {
      look.now_us = now();
      if (!find(group)) return;
      for (std::size_t i = 0; i < keys.size(); ++i) look.rows[i] = row(keys[i]);
    }));
    return look;
  }

  Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                        const CallLimit& limit) override {
    std::vector<std::string> keys;
    std::string end = prefix;
    ++end.back();
    TRY(in_transaction(false, limit, [&] {
      if (!find(group)) return;
      Query query(*database_, "SELECT row FROM held_row WHERE held=? AND row>=? AND row<?");
      query << key_ << std::string_view(prefix) << std::string_view(end);
      while (query.next()) keys.push_back(query.text(0));
    }));
    return keys;
  }

  Result<std::vector<LockName>> groups(const CallLimit& limit) override {
    std::vector<LockName> names;
    TRY(in_transaction(false, limit, [&] {
      Query query(
          *database_,
          "SELECT name FROM held WHERE space=? AND EXISTS(SELECT 1 FROM held_row WHERE held=key) ORDER BY name");
      query << space_;
      while (query.next()) {
        if (auto name = LockName::parse_stored(query.text(0))) names.push_back(std::move(*name));
      }
    }));
    return names;
  }

  /// Some of them in one transaction: who dies in it has done nothing.
  std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell /*tell*/,
                                          const CallLimit& limit) override {
    return commit_in_pieces(commits, kMostInOneTransaction, [&](auto some) { return commit_some(group, some, limit); });
  }

 private:
  Result<std::vector<Number>> commit_some(const LockName& group, std::span<const Commit> some, const CallLimit& limit) {
    std::vector<Number> numbers;
    make_ = std::any_of(some.begin(), some.end(), relies_on_nothing);
    const auto done = in_transaction(true, limit, [&] {
      for (const Commit& one : some) numbers.push_back(carry_out(group, one));
    });
    make_ = false;
    if (!done) return done.error();
    numbers.resize(some.size());
    return numbers;
  }

  template <typename Body>
  Result<void> in_transaction(bool writes, const CallLimit& limit, Body body) {
    TRY(open(limit));
    if (!database_) return {};
    TRY(database_->begin(writes, limit));
    body();
    return database_->commit();
  }

  Result<void> open(const CallLimit& limit);
  Result<void> make_tables(const CallLimit& limit);
  Result<bool> are_made();
  void read_clock();
  bool find_clock();
  std::int64_t now() const { return us(context_.runtime.clock.now()) + ahead_; }

  bool find(const LockName& group) {
    Query query(*database_, "SELECT key,last FROM held WHERE space=? AND name=?");
    query << space_ << std::string_view(group.text());
    const bool found = query.next();
    key_ = found ? query.number(0) : 0;
    last_ = found ? query.number(1) : 0;
    return found;
  }

  Row row(const std::string& key) {
    Query query(*database_, "SELECT version,text FROM held_row WHERE held=? AND row=?");
    query << key_ << std::string_view(key);
    if (!query.next()) return {};
    return {query.text(1), static_cast<Number>(query.number(0)), query.number(0)};
  }

  /// Decides before it writes, so that one which is refused has written nothing.
  Number carry_out(const LockName& group, const Commit& commit) {
    if (!find(group) && !relies_on_nothing(commit)) return 0;
    std::vector<std::string> texts;
    for (const Change& one : commit) {
      const Row was = one.kind == ChangeKind::kClear ? Row() : row(one.key);
      texts.push_back(one.kind == ChangeKind::kAdd && was.version != 0 ? added_numbers(was.text, one.add) : one.text);
      if (!fits(one, was, texts.back())) return 0;
    }
    number_commit(group);
    for (std::size_t i = 0; i < commit.size(); ++i) write(commit[i], texts[i]);
    return database_->failed() ? 0 : static_cast<Number>(last_);
  }

  bool fits(const Change& one, const Row& was, const std::string& text) const {
    if (one.kind == ChangeKind::kTell) return true;
    if (one.kind == ChangeKind::kBefore) return now() < static_cast<std::int64_t>(one.version);
    if (one.kind == ChangeKind::kFill) return was.text.empty();
    return one.kind == ChangeKind::kAdd ? !text.empty() : was.version == one.version;
  }

  void number_commit(const LockName& group) {
    Query query(*database_,
                "INSERT INTO held(space,name,last) VALUES(?1,?2,?3) ON CONFLICT DO UPDATE SET last=max(last+1,?3) "
                "RETURNING key,last");
    query << space_ << std::string_view(group.text()) << now();
    while (query.next()) key_ = query.number(0), last_ = query.number(1);
  }

  void write(const Change& one, const std::string& text) {
    if (one.kind == ChangeKind::kClear) (Query(*database_, "DELETE FROM held_row WHERE held=?") << key_).run();
    if (one.kind == ChangeKind::kRemove) {
      (Query(*database_, "DELETE FROM held_row WHERE held=? AND row=?") << key_ << std::string_view(one.key)).run();
    }
    const bool puts = one.kind == ChangeKind::kPut || one.kind == ChangeKind::kAdd || one.kind == ChangeKind::kFill;
    if (!puts) return;
    Query query(*database_, "INSERT OR REPLACE INTO held_row(held,row,version,text) VALUES(?,?,?,?)");
    query << key_ << std::string_view(one.key) << last_ << std::string_view(text);
    query.run();
  }

  LocalContext context_;
  const std::string_view space_;
  const bool durable_;
  bool make_ = false;  ///< the file, if there is none
  std::optional<Database> database_;
  std::int64_t ahead_ = 0;
  std::int64_t key_ = 0;  ///< of the group that was found last
  std::int64_t last_ = 0;
};

Result<void> LocalRows::open(const CallLimit& limit) {
  if (database_) return {};
  TRY_ASSIGN(const auto dir, context_.directory());
  {
    // Closed before SQLite opens it: closing any descriptor of a file lets go of a process's fcntl locks on it.
    TRY_ASSIGN(const auto file, dir->open_file(kFile, make_));
    if (!file.valid()) return {};
  }
  TRY_ASSIGN(auto database, Database::open(dir->path() + "/" + kFile, durable_, context_.runtime.clock));
  database_.emplace(std::move(database));
  auto made = make_tables(limit);
  if (!made) database_.reset();
  return made;
}

/// In a transaction. False: there are no tables yet.
Result<bool> LocalRows::are_made() {
  std::int64_t found = -1;
  {
    Query query(*database_, "PRAGMA user_version");
    if (query.next()) found = query.number(0);
  }
  if (found == 0 || found == kVersion || database_->failed()) return found == kVersion;
  database_->rollback();
  return Error{ErrorCode::kMisconfigured,
               "stock.db was made by another version of dlock (layout " + std::to_string(found) + ", this one knows " +
                   std::to_string(kVersion) + ")",
               "use that version, or another directory: --backend local:/dir"};
}

/// Who only looks at what others have made does not queue with those who write.
Result<void> LocalRows::make_tables(const CallLimit& limit) {
  for (const bool writes : {false, true}) {
    TRY(database_->begin(writes, limit));
    TRY_ASSIGN(const bool made, are_made());
    if (writes && !made) {
      for (const char* sql : kTables) Query(*database_, sql).run();
    }
    if (writes) read_clock();
    const bool complete = writes || (made && find_clock());
    TRY(database_->commit());
    if (complete) break;
  }
  return {};
}

bool LocalRows::find_clock() {
  Query query(*database_, "SELECT ahead FROM clock WHERE boot=?");
  const std::string boot = boot_id();
  query << std::string_view(boot);
  const bool found = query.next();
  if (found) ahead_ = query.number(0);
  return found;
}

void LocalRows::read_clock() {
  if (find_clock()) return;
  const std::string boot = boot_id();
  const std::int64_t booted = us(context_.runtime.clock.now());
  std::int64_t last = 0;
  {
    Query query(*database_, "SELECT max(last) FROM held");
    if (query.next()) last = query.number(0);
  }
  ahead_ = std::max(us(context_.runtime.clock.wall()), last) - booted;
  Query query(*database_, "INSERT OR REPLACE INTO clock(one,boot,ahead) VALUES(1,?,?)");
  query << std::string_view(boot) << ahead_;
  query.run();
}

}  // namespace
}  // namespace local

Result<std::unique_ptr<Rows>> make_local_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime) {
  return std::unique_ptr<Rows>(std::make_unique<local::LocalRows>(local::LocalContext::of(url, runtime), space));
}

}  // namespace dlock
