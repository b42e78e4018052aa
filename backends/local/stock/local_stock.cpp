// SPDX-License-Identifier: Apache-2.0
#include "backends/local/stock/local_stock.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/stock/sqlite.h"
#include "lib/base/unique_fd.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_ledger.h"

namespace dlock {
namespace local {
namespace {

/// The stocks of this machine, in stock.db of the lock directory. Opens the file in the first transaction; only one
/// that may make a stock makes it. Writers are alone, so nothing needs locks of its own.
class Ledger final : public StockLedger {
 public:
  Ledger(LocalContext context, bool durable) : context_(std::move(context)), durable_(durable) {}

  const std::string& store() const override { return context_.settings.store; }
  Result<void> begin(Access access, const CallLimit& limit) override;
  Result<void> commit() override { return database_ ? database_->commit() : Result<void>(); }
  void rollback() override {
    if (database_) database_->rollback();
  }
  bool failed() const override { return database_ && database_->failed(); }

  bool find(const LockName& name) override;
  const std::string& maker() const override { return maker_; }
  int segments() const override { return segments_; }
  std::vector<LockName> names() override;
  void create(const LockName& name, Quantity quantity, int segments, const Owner& maker) override;
  void drop() override;

  Result<std::vector<Quantity>> quantities() override;
  Quantity available() const override { return available_; }
  Quantity reserved() const override { return reserved_; }
  Quantity put_in() const override { return put_in_; }
  Result<StockState> state(const LockName& name) override;
  void move(int segment, const Change& change) override;
  void count_added(Quantity quantity) override;

  Result<std::optional<RequestRecord>> record(const LockName& id) override;
  void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) override;
  FencingToken token(const LockName& id) override;
  void give_back(const LockName& id, const RequestRecord& record) override;
  /// Also those that an earlier boot of the machine left.
  Result<void> sweep(bool needed) override;
  Result<void> level(int segments) override;

 private:
  Result<void> open(bool make);
  Result<void> make_tables();
  Result<void> move_home(int segments);
  /// Those that end until then, and all of an earlier boot.
  std::vector<std::pair<LockName, std::string>> reservations(std::int64_t until);
  Clock& clock() const { return context_.runtime.clock; }

  LocalContext context_;
  const bool durable_;
  std::optional<Database> database_;
  std::string boot_;
  std::int64_t key_ = 0;
  std::string name_;
  std::string maker_;
  int segments_ = 0;
  Quantity available_ = 0;
  Quantity reserved_ = 0;
  Quantity put_in_ = 0;
};

using namespace std::chrono_literals;

constexpr char kFile[] = "stock.db";
constexpr std::int64_t kVersion = 1;

/// quantity, reserved >= 0 is the second fence after the decisions. A request's deadline is on the boot clock of
/// `boot`; null: it is not a reservation (any more).
constexpr const char* kTables[] = {
    "CREATE TABLE stock(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, maker TEXT NOT NULL, segments INTEGER NOT "
    "NULL, created INTEGER NOT NULL, added INTEGER NOT NULL DEFAULT 0, token INTEGER NOT NULL DEFAULT 0) STRICT",
    "CREATE TABLE segment(stock INTEGER NOT NULL, segment INTEGER NOT NULL, quantity INTEGER NOT NULL CHECK "
    "(quantity>=0), reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved>=0), taken INTEGER NOT NULL DEFAULT 0, "
    "refunded INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(stock,segment)) STRICT, WITHOUT ROWID",
    "CREATE TABLE request(stock INTEGER NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, deadline INTEGER, boot TEXT, "
    "PRIMARY KEY(stock,id)) STRICT, WITHOUT ROWID",
    "CREATE INDEX reservation ON request(stock,deadline) WHERE deadline IS NOT NULL",
    "PRAGMA user_version=1",
};

/// Names this boot of the machine: deadlines on its clock mean nothing in another one.
std::string boot_id() {
  char text[64];
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof text) : 0;
  return size > 1 ? std::string(text, static_cast<std::size_t>(size) - 1) : std::string();
}

Result<void> Ledger::open(bool make) {
  if (database_) return {};
  const auto dir = context_.directory();
  if (!dir) return dir.error();
  {
    // Closed before SQLite opens it: closing any descriptor of a file lets go of a process's fcntl locks on it.
    const auto file = (*dir)->open_file(kFile, make);
    if (!file) return file.error();
    if (!file->valid()) return {};
  }
  auto database = Database::open((*dir)->path() + "/" + kFile, durable_, clock());
  if (!database) return database.error();
  database_.emplace(std::move(*database));
  boot_ = boot_id();
  auto made = make_tables();
  if (!made) database_.reset();
  return made;
}

Result<void> Ledger::begin(Access access, const CallLimit& limit) {
  if (auto opened = open(access == Access::kMake); !opened) return opened;
  return database_ ? database_->begin(true, limit) : Result<void>();
}

Result<void> Ledger::make_tables() {
  const CallLimit limit{clock().now() + 5s};
  const auto version = [&] {
    Query query(*database_, "PRAGMA user_version");
    return query.next() ? query.number(0) : -1;
  };
  if (auto begun = database_->begin(false, limit); !begun) return begun;
  std::int64_t found = version();
  if (auto done = database_->commit(); !done) return done;
  if (found == kVersion) return {};
  if (auto begun = database_->begin(true, limit); !begun) return begun;
  found = version();
  if (found == 0) {
    for (const char* sql : kTables) Query(*database_, sql).run();
  } else if (found != kVersion && !database_->failed()) {
    database_->rollback();
    return Error{
        ErrorCode::kMisconfigured,
        "stock.db was made by another version of dlock (layout " + std::to_string(found) + ", this one knows 1)",
        "use that version, or another directory: --backend local:/dir"};
  }
  return database_->commit();
}

bool Ledger::find(const LockName& name) {
  if (!database_) return false;
  Query query(*database_, "SELECT key,maker,segments,created+added FROM stock WHERE name=?");
  query << std::string_view(name.text());
  if (!query.next()) return false;
  key_ = query.number(0);
  maker_ = query.text(1);
  segments_ = static_cast<int>(query.number(2));
  put_in_ = query.number(3);
  name_ = name.text();
  return true;
}

std::vector<LockName> Ledger::names() {
  std::vector<LockName> names;
  if (!database_) return names;
  Query query(*database_, "SELECT name FROM stock ORDER BY name");
  while (query.next()) {
    if (auto name = LockName::parse(query.text(0))) names.push_back(std::move(*name));
  }
  return names;
}

void Ledger::create(const LockName& name, Quantity quantity, int segments, const Owner& maker) {
  {
    Query query(*database_, "INSERT INTO stock(name,maker,segments,created) VALUES(?,?,?,?)");
    query << std::string_view(name.text()) << std::string_view(maker.text()) << segments << quantity;
    query.run();
  }
  if (!find(name)) return;
  const std::vector<Quantity> each = spread(quantity, segments);
  for (int i = 0; i < segments; ++i) {
    Query query(*database_, "INSERT INTO segment(stock,segment,quantity) VALUES(?,?,?)");
    query << key_ << i << each[static_cast<std::size_t>(i)];
    query.run();
  }
}

void Ledger::drop() {
  for (const char* sql :
       {"DELETE FROM request WHERE stock=?", "DELETE FROM segment WHERE stock=?", "DELETE FROM stock WHERE key=?"}) {
    (Query(*database_, sql) << key_).run();
  }
}

Result<std::vector<Quantity>> Ledger::quantities() {
  std::vector<Quantity> have;
  available_ = reserved_ = 0;
  Query query(*database_, "SELECT segment,quantity,reserved FROM segment WHERE stock=? ORDER BY segment");
  query << key_;
  while (query.next()) {
    if (query.number(0) != static_cast<std::int64_t>(have.size())) break;
    have.push_back(query.number(1));
    available_ += query.number(1);
    reserved_ += query.number(2);
  }
  if (have.size() != static_cast<std::size_t>(segments_)) {
    return Error{ErrorCode::kMisconfigured,
                 "the stock '" + name_ + "' is inconsistent: it should have " + std::to_string(segments_) +
                     " segments, but segment " + std::to_string(have.size()) + " is missing; nothing was changed",
                 "did another program write to stock.db? Repair its rows, or drop the stock and create it again"};
  }
  return have;
}

Result<StockState> Ledger::state(const LockName& name) {
  StockState state{.name = name, .segments = {}};
  {
    Query query(*database_, "SELECT created,added FROM stock WHERE key=?");
    query << key_;
    if (query.next()) state.created = query.number(0), state.added = query.number(1);
  }
  if (const auto sound = quantities(); !sound) return sound.error();
  {
    Query query(*database_, "SELECT quantity,reserved,taken,refunded FROM segment WHERE stock=? ORDER BY segment");
    query << key_;
    while (query.next()) {
      state.segments.push_back({query.number(0), query.number(1)});
      state.taken += query.number(2);
      state.refunded += query.number(3);
    }
  }
  Query query(*database_, "SELECT count(*) FROM request INDEXED BY reservation WHERE stock=? AND deadline IS NOT NULL");
  query << key_;
  if (query.next()) state.open = query.number(0);
  return state;
}

void Ledger::move(int segment, const Change& change) {
  Query query(*database_,
              "UPDATE segment SET quantity=quantity+?,reserved=reserved+?,taken=taken+?,refunded=refunded+? WHERE "
              "stock=? AND segment=?");
  query << change.quantity << change.reserved << change.taken << change.refunded << key_ << segment;
  query.run();
}

void Ledger::count_added(Quantity quantity) {
  Query query(*database_, "UPDATE stock SET added=added+? WHERE key=?");
  query << quantity << key_;
  query.run();
  put_in_ += quantity;
}

FencingToken Ledger::token(const LockName& /*id*/) {
  Query query(*database_, "UPDATE stock SET token=max(token+1,?) WHERE key=? RETURNING token");
  query << clock().wall().time_since_epoch().count() << key_;
  FencingToken token;
  while (query.next()) token = FencingToken(static_cast<std::uint64_t>(query.number(0)));
  return token;
}

Result<std::optional<RequestRecord>> Ledger::record(const LockName& id) {
  Query query(*database_, "SELECT record FROM request WHERE stock=? AND id=?");
  query << key_ << std::string_view(id.text());
  if (!query.next()) return std::optional<RequestRecord>();
  auto record = parse_record(query.text(0));
  if (!record) return Error{ErrorCode::kMisconfigured, "request '" + id.text() + "': " + record.error().message};
  return std::optional<RequestRecord>(std::move(*record));
}

void Ledger::remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) {
  const std::string text = record_text(record);
  Query query(*database_, ttl ? "INSERT OR REPLACE INTO request(stock,id,record,deadline,boot) VALUES(?,?,?,?,?)"
                              : "INSERT OR REPLACE INTO request(stock,id,record) VALUES(?,?,?)");
  query << key_ << std::string_view(id.text()) << std::string_view(text);
  if (ttl) query << (clock().now() + *ttl).time_since_epoch().count() << std::string_view(boot_);
  query.run();
}

void Ledger::give_back(const LockName& id, const RequestRecord& record) {
  for (const StockPart& part : record.parts) {
    move(part.segment, {.quantity = part.quantity, .reserved = -part.quantity});
  }
  Query query(*database_, "DELETE FROM request WHERE stock=? AND id=?");
  query << key_ << std::string_view(id.text());
  query.run();
}

/// By the index of reservations: by its own choice SQLite reads every request that there ever was.
std::vector<std::pair<LockName, std::string>> Ledger::reservations(std::int64_t until) {
  std::vector<std::pair<LockName, std::string>> found;
  Query query(*database_,
              "SELECT id,record FROM request INDEXED BY reservation WHERE stock=? AND deadline IS NOT NULL AND "
              "(deadline<=? OR boot<>?)");
  query << key_ << until << std::string_view(boot_);
  while (query.next()) {
    if (auto id = LockName::parse(query.text(0))) found.emplace_back(std::move(*id), query.text(1));
  }
  return found;
}

Result<void> Ledger::sweep(bool /*needed*/) {
  for (const auto& [id, text] : reservations(clock().now().time_since_epoch().count())) {
    const auto record = parse_record(text);
    if (!record) return Error{ErrorCode::kMisconfigured, "request '" + id.text() + "': " + record.error().message};
    give_back(id, *record);
  }
  return {};
}

Result<void> Ledger::level(int segments) {
  if (const auto sound = quantities(); !sound) return sound.error();
  const std::vector<Quantity> each = spread(available_, segments);
  if (segments < segments_) {
    if (auto moved = move_home(segments); !moved) return moved;
  }
  for (int i = 0; i < segments; ++i) {
    const Quantity quantity = each[static_cast<std::size_t>(i)];
    Query query(*database_,
                "INSERT INTO segment(stock,segment,quantity) VALUES(?1,?2,?3) ON CONFLICT DO UPDATE SET "
                "quantity=?3");
    query << key_ << i << quantity;
    query.run();
  }
  Query query(*database_, "UPDATE stock SET segments=? WHERE key=?");
  query << segments << key_;
  query.run();
  segments_ = segments;
  return {};
}

/// Everything but the quantity of the segments from `segments` on.
Result<void> Ledger::move_home(int segments) {
  for (const auto& [id, text] : reservations(std::numeric_limits<std::int64_t>::max())) {
    auto record = parse_record(text);
    if (!record) return Error{ErrorCode::kMisconfigured, "request '" + id.text() + "': " + record.error().message};
    for (StockPart& part : record->parts) {
      const int home = home_of(part.segment, segments);
      move(part.segment, {.reserved = -part.quantity});
      move(home, {.reserved = part.quantity});
      part.segment = home;
    }
    const std::string moved = record_text(*record);
    Query query(*database_, "UPDATE request SET record=? WHERE stock=? AND id=?");
    query << std::string_view(moved) << key_ << std::string_view(id.text());
    query.run();
  }
  {
    Query query(
        *database_,
        "UPDATE segment SET (taken,refunded)=(SELECT segment.taken+sum(s.taken),segment.refunded+sum(s.refunded) "
        "FROM segment s WHERE s.stock=?1 AND s.segment>=?2) WHERE stock=?1 AND segment=0");
    query << key_ << segments;
    query.run();
  }
  Query query(*database_, "DELETE FROM segment WHERE stock=? AND segment>=?");
  query << key_ << segments;
  query.run();
  return {};
}

}  // namespace
}  // namespace local

Result<std::unique_ptr<Stock>> make_local_stock(const BackendUrl& url, const Runtime& runtime) {
  auto context = local::LocalContext::of(url, runtime);
  const bool durable = context.settings.durable_stock;
  return ledger_stock(std::make_unique<local::Ledger>(std::move(context), durable));
}

}  // namespace dlock
