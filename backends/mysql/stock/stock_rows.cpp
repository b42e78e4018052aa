// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/stock_rows.h"

#include <utility>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/stock/mysql_stock.h"
#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::mysql {
namespace {

/// A client that is silent for so long may have left rows locked.
constexpr int kIdleSeconds = 15;

Settings for_batches(Settings settings) {
  for (DatabaseSettings& server : settings.servers) {
    server.batches = true;
    server.idle_seconds = kIdleSeconds;
  }
  return settings;
}

bool is_broken_rule(int code) { return code == 4025 || code == 3819 || code == kOutOfRange; }  // CHECK, CHECK (MySQL)

Error no_record(const LockName& id, const std::string& why) {
  return {ErrorCode::kMisconfigured, "request '" + id.text() + "': " + why};
}

}  // namespace

StockRows::StockRows(Settings settings, const Dial& dial, const Runtime& runtime)
    : settings_(for_batches(std::move(settings))),
      transaction_(Servers(settings_.servers, dial, runtime.clock), runtime.clock),
      draft_(transaction_, key_),
      segment_locks_(
          transaction_.servers(), runtime.clock, settings_.store,
          [this](const LockName& name, const CallLimit& limit) { return find_key(name, limit); },
          [this](const StockRequest& request, const Owner& owner, Duration ttl, LockFirst first,
                 const CallLimit& limit) { return deduct_behind(std::move(first), request, &owner, ttl, 0, limit); }) {}

SegmentLocks* StockRows::segment_locks() {
  const bool fits = settings_.strategy == Strategy::kLease || settings_.strategy == Strategy::kSession;
  return fits && !segment_locks_.refused() ? &segment_locks_ : nullptr;
}

Result<void> StockRows::begin(Access access, const CallLimit& limit) {
  access_ = access;
  unfit_.reset();
  draft_.begin();
  return transaction_.begin(limit);
}

Result<void> StockRows::commit() {
  if (unfit_) {
    rollback();
    return *unfit_;
  }
  draft_.flush();
  const auto done = transaction_.commit();
  if (done) return {};
  return commit_error(done.error());
}

Error StockRows::commit_error(Error error) const {
  if (!name_ || !is_broken_rule(transaction_.failure_code())) return error;
  return broken_stock(*name_, error.message);
}

std::string StockRows::find_query(const LockName& name) const {
  const char* lock = access_ == Access::kMake ? "" : access_ == Access::kAlone ? " FOR UPDATE" : " LOCK IN SHARE MODE";
  return "SELECT s.id,s.maker,s.segments,s.created,s.added,(SELECT COUNT(*) FROM " + std::string(kReservationTable) +
         " o WHERE o.stock=s.id AND o.expires<=UTC_TIMESTAMP(6)) FROM " + kStockTable +
         " s WHERE s.name=" + literal(name.text()) + lock;
}

bool StockRows::find(const LockName& name) { return read_stock(name, transaction_.read(find_query(name))); }

bool StockRows::read_stock(const LockName& name, const std::vector<Row>& rows) {
  name_.reset();
  if (rows.empty() || rows.front().size() != 6) return false;
  const Row& row = rows.front();
  name_ = name;
  key_ = text_of(row, 0);
  maker_ = text_of(row, 1);
  segments_ = static_cast<int>(number_of(row, 2));
  created_ = number_of(row, 3);
  added_ = number_of(row, 4);
  overdue_ = number_of(row, 5) > 0;
  return true;
}

std::vector<LockName> StockRows::names() {
  std::vector<LockName> names;
  for (const Row& row : transaction_.read("SELECT name FROM " + std::string(kStockTable) + " ORDER BY name")) {
    if (auto name = LockName::parse(text_of(row, 0))) names.push_back(std::move(*name));
  }
  return names;
}

/// Tables without transactions would keep what a step that failed has changed.
bool StockRows::tables_are_fit() {
  for (const Row& kind : transaction_.read(kinds_query("LIKE 'dlock\\_stock%'"))) {
    if (const auto fit = judge_engine(kind); !fit) unfit_ = fit.error();
  }
  return !unfit_ && !failed();
}

void StockRows::create(const LockName& name, Quantity quantity, int segments, const Owner& maker) {
  if (!tables_are_fit()) return;
  const auto rows =
      transaction_.read("INSERT INTO " + std::string(kStockTable) + "(name,maker,segments,created) VALUES(" +
                        literal(name.text()) + "," + literal(maker.text()) + "," + std::to_string(segments) + "," +
                        std::to_string(quantity) + ");SELECT LAST_INSERT_ID()");
  if (rows.empty()) return;
  std::string values;
  int segment = 0;
  for (const Quantity each : spread(quantity, segments)) {
    values += (values.empty() ? "(" : ",(") + text_of(rows.front(), 0) + "," + std::to_string(segment++) + "," +
              std::to_string(each) + ")";
  }
  transaction_.write("INSERT INTO " + std::string(kSegmentTable) + "(stock,segment,quantity) VALUES" + values);
  // From now on tokens are larger than the clock is: those of the same stock in another store are left behind.
  const std::string stock = text_of(rows.front(), 0);
  transaction_.write("INSERT IGNORE INTO " + std::string(kReservationTable) + "(token,stock,id,expires) VALUES(" +
                     kServerMicroseconds + "," + stock + ",'',UTC_TIMESTAMP(6))");
  transaction_.write("DELETE FROM " + std::string(kReservationTable) + " WHERE stock=" + stock + " AND id=''");
}

/// The segments first: a deduction from them alone writes its request after that, or not at all.
void StockRows::drop() {
  for (const char* table : {kSegmentTable, kRequestTable, kReservationTable}) {
    transaction_.write("DELETE FROM " + draft_.of_stock(table));
  }
  transaction_.write("DELETE FROM " + std::string(kStockTable) + " WHERE id=" + key_);
}

Result<std::vector<Quantity>> StockRows::quantities() {
  std::vector<Quantity> have;
  available_ = reserved_ = 0;
  for (const StockSegment& segment : draft_.segments()) {
    have.push_back(segment.quantity);
    available_ += segment.quantity;
    reserved_ += segment.reserved;
  }
  if (have.size() == static_cast<std::size_t>(segments_)) return have;
  return missing(have.size());
}

Error StockRows::missing(std::size_t segment) const {
  return broken_stock(*name_,
                      "segment " + std::to_string(segment) + " of " + std::to_string(segments_) + " is missing");
}

Result<StockState> StockRows::state(const LockName& /*name*/) { return read_state(draft_.read(state_query())); }

/// All of it in one look, and after it the number of reservations.
std::string StockRows::state_query() const {
  return "SELECT segment,quantity,reserved,taken,refunded FROM " + draft_.of_stock(kSegmentTable) +
         " ORDER BY segment;SELECT COUNT(*) FROM " + draft_.of_stock(kReservationTable);
}

Result<StockState> StockRows::read_state(const std::vector<Row>& rows) const {
  StockState state{.name = *name_, .segments = {}, .created = created_, .added = added_};
  for (const Row& row : rows) {
    if (row.size() == 1) {
      state.open = number_of(row, 0);
    } else if (row.size() == 5 && number_of(row, 0) == static_cast<std::int64_t>(state.segments.size())) {
      state.segments.push_back({number_of(row, 1), number_of(row, 2)});
      state.taken += number_of(row, 3);
      state.refunded += number_of(row, 4);
    }
  }
  if (state.segments.size() == static_cast<std::size_t>(segments_)) return state;
  return missing(state.segments.size());
}

void StockRows::count_added(Quantity quantity) {
  transaction_.write("UPDATE " + std::string(kStockTable) + " SET added=added+" + std::to_string(quantity) +
                     " WHERE id=" + key_);
  added_ += quantity;
}

Result<std::optional<RequestRecord>> StockRows::record(const LockName& id) {
  const auto text = draft_.record(id);
  has_record_ = text.has_value();
  if (!text) return std::optional<RequestRecord>();
  auto record = parse_record(*text);
  if (!record) return no_record(id, record.error().message);
  return std::optional<RequestRecord>(std::move(*record));
}

/// A new one is inserted, never replaced: of two who write it at the same time one has to begin again.
void StockRows::remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) {
  if (has_record_) draft_.rewrite(id, record_text(record), ttl);
  else draft_.insert(id, record_text(record), ttl);
}

void StockRows::give_back(const LockName& id, const RequestRecord& record) {
  for (const StockPart& part : record.parts) {
    move(part.segment, {.quantity = part.quantity, .reserved = -part.quantity});
  }
  draft_.forget(id);
}

Result<std::vector<StockRows::Reservation>> StockRows::reservations(const std::string& condition) {
  std::vector<Reservation> found;
  for (const Row& row : draft_.read("SELECT r.id,r.record FROM " + std::string(kReservationTable) + " o JOIN " +
                                    kRequestTable + " r ON r.stock=o.stock AND r.id=o.id WHERE o.stock=" + key_ +
                                    condition + " ORDER BY o.token FOR UPDATE")) {
    auto id = LockName::parse(text_of(row, 0));
    if (!id) continue;
    auto record = parse_record(text_of(row, 1));
    if (!record) return no_record(*id, record.error().message);
    found.push_back({std::move(*id), std::move(*record)});
  }
  return found;
}

/// A second sweep at the same time waits at the row, and finds it gone.
Result<void> StockRows::sweep(bool /*needed*/) {
  if (!std::exchange(overdue_, false)) return {};
  const auto over = reservations(" AND o.expires<=UTC_TIMESTAMP(6)");
  if (!over) return over.error();
  for (const Reservation& one : *over) give_back(one.id, one.record);
  return {};
}

Result<void> StockRows::level(int segments) {
  if (const auto sound = quantities(); !sound) return sound.error();
  const std::vector<Quantity> each = spread(available_, segments);
  if (segments < segments_) {
    if (auto moved = move_home(segments); !moved) return moved;
  }
  for (int i = 0; i < segments; ++i) {
    const std::string quantity = std::to_string(each[static_cast<std::size_t>(i)]);
    const std::string number = std::to_string(i);
    if (i < segments_) {
      transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1,quantity=" + quantity +
                         " WHERE stock=" + key_ + " AND segment=" + number);
    } else {
      transaction_.write("INSERT INTO " + std::string(kSegmentTable) + "(stock,segment,quantity) VALUES(" + key_ + "," +
                         number + "," + quantity + ")");
    }
  }
  transaction_.write("UPDATE " + std::string(kStockTable) + " SET segments=" + std::to_string(segments) +
                     " WHERE id=" + key_);
  segments_ = segments;
  return {};
}

/// Everything but the quantity of the segments from `segments` on.
Result<void> StockRows::move_home(int segments) {
  auto all = reservations("");
  if (!all) return all.error();
  for (Reservation& one : *all) {
    for (StockPart& part : one.record.parts) {
      const int home = home_of(part.segment, segments);
      if (home == part.segment) continue;
      move(part.segment, {.reserved = -part.quantity});
      move(home, {.reserved = part.quantity});
      part.segment = home;
    }
    transaction_.write("UPDATE " + std::string(kRequestTable) + " SET record=" + literal(record_text(one.record)) +
                       " WHERE " + draft_.is_request(one.id));
  }
  const std::string gone = draft_.of_stock(kSegmentTable) + " AND segment>=" + std::to_string(segments);
  const auto rows = draft_.read("SELECT COALESCE(SUM(taken),0),COALESCE(SUM(refunded),0) FROM " + gone);
  if (!rows.empty()) move(0, {.taken = number_of(rows.front(), 0), .refunded = number_of(rows.front(), 1)});
  transaction_.write("DELETE FROM " + gone);
  return {};
}

}  // namespace dlock::mysql

namespace dlock {

Result<std::unique_ptr<Stock>> make_mysql_stock(const BackendUrl& url, const Runtime& runtime) {
  auto settings = mysql::settings_of(url, std::chrono::seconds(5));
  if (!settings) return settings.error();
  return ledger_stock(std::make_unique<mysql::StockRows>(std::move(*settings), mysql::connect_by_connector, runtime));
}

}  // namespace dlock
