// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/stock_rows.h"

#include <utility>

#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/stock/stock_deduction.h"
#include "lib/base/text.h"
#include "lib/stock/segment_plan.h"

namespace dlock::mysql {
namespace {

/// A client that is silent for so long may have left rows locked behind it.
constexpr int kIdleSeconds = 15;

Settings for_batches(Settings settings) {
  for (DatabaseSettings& server : settings.servers) {
    server.batches = true;
    server.idle_seconds = kIdleSeconds;
  }
  return settings;
}

bool is_broken_rule(int code) { return code == 4025 || code == 3819 || code == 1690; }  // CHECK, CHECK (MySQL), range

std::string text_of(const Row& row, std::size_t column) {
  return column < row.size() ? row[column].value_or("") : std::string();
}
std::int64_t number_of(const Row& row, std::size_t column) {
  return leading_number<std::int64_t>(text_of(row, column));
}

/// ",quantity=quantity+(-3)"
std::string more(const char* column, Quantity quantity) {
  if (quantity == 0) return {};
  return "," + std::string(column) + "=" + column + "+(" + std::to_string(quantity) + ")";
}

Error no_record(const LockName& id, const std::string& why) {
  return {ErrorCode::kMisconfigured, "request '" + id.text() + "': " + why};
}

}  // namespace

StockRows::StockRows(Settings settings, const Dial& dial, const Runtime& runtime)
    : settings_(for_batches(std::move(settings))),
      transaction_(Servers(settings_.servers, dial, runtime.clock), runtime.clock),
      segment_locks_(
          transaction_.servers(), runtime.clock, settings_.store,
          [this](const LockName& name, const CallLimit& limit) { return find_key(name, limit); },
          [this](const StockRequest& request, const Owner& owner, Duration ttl, const std::string& lock,
                 const CallLimit& limit) { return deduct_behind(lock, request, &owner, ttl, 0, limit); }) {}

SegmentLocks* StockRows::segment_locks() {
  const bool fits = settings_.strategy == Strategy::kLease || settings_.strategy == Strategy::kSession;
  return fits && !segment_locks_.refused() ? &segment_locks_ : nullptr;
}

Result<void> StockRows::begin(Access access, const CallLimit& limit) {
  access_ = access;
  return transaction_.begin(limit);
}

Result<void> StockRows::commit() {
  const auto done = transaction_.commit();
  if (done) return {};
  return commit_error(done.error());
}

Error StockRows::commit_error(Error error) const {
  if (!name_ || !is_broken_rule(transaction_.failure_code())) return error;
  return broken_stock(*name_, error.message);
}

std::string StockRows::of_stock(const char* table) const { return std::string(table) + " WHERE stock=" + key_; }
std::string StockRows::of_request(const char* table, const LockName& id) const {
  return of_stock(table) + " AND id=" + literal(id.text());
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

void StockRows::create(const LockName& name, Quantity quantity, int segments, const Owner& maker) {
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

/// The segments first: who is about to deduct from them alone writes down its request behind that, or not at all.
void StockRows::drop() {
  for (const char* table : {kSegmentTable, kRequestTable, kReservationTable}) {
    transaction_.write("DELETE FROM " + of_stock(table));
  }
  transaction_.write("DELETE FROM " + std::string(kStockTable) + " WHERE id=" + key_);
}

Result<std::vector<Quantity>> StockRows::quantities() {
  std::vector<Quantity> have;
  available_ = reserved_ = 0;
  for (const Row& row : transaction_.read("SELECT segment,quantity,reserved FROM " + of_stock(kSegmentTable) +
                                          " ORDER BY segment FOR UPDATE")) {
    if (number_of(row, 0) != static_cast<std::int64_t>(have.size())) break;
    have.push_back(number_of(row, 1));
    available_ += number_of(row, 1);
    reserved_ += number_of(row, 2);
  }
  if (have.size() == static_cast<std::size_t>(segments_)) return have;
  return broken_stock(*name_,
                      "segment " + std::to_string(have.size()) + " of " + std::to_string(segments_) + " is missing");
}

Result<StockState> StockRows::state(const LockName& /*name*/) { return read_state(transaction_.read(state_query())); }

/// All of it in one look, and behind it how many reservations there are.
std::string StockRows::state_query() const {
  return "SELECT segment,quantity,reserved,taken,refunded FROM " + of_stock(kSegmentTable) +
         " ORDER BY segment;SELECT COUNT(*) FROM " + of_stock(kReservationTable);
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
  return broken_stock(
      *name_, "segment " + std::to_string(state.segments.size()) + " of " + std::to_string(segments_) + " is missing");
}

void StockRows::move(int segment, const Change& change) {
  transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1" +
                     more("quantity", change.quantity) + more("reserved", change.reserved) +
                     more("taken", change.taken) + more("refunded", change.refunded) + " WHERE stock=" + key_ +
                     " AND segment=" + std::to_string(segment));
}

void StockRows::count_added(Quantity quantity) {
  transaction_.write("UPDATE " + std::string(kStockTable) + " SET added=added+" + std::to_string(quantity) +
                     " WHERE id=" + key_);
}

Result<std::optional<RequestRecord>> StockRows::record(const LockName& id) {
  const auto rows = transaction_.read("SELECT record FROM " + of_request(kRequestTable, id) + " FOR UPDATE");
  has_record_ = !rows.empty();
  if (rows.empty()) return std::optional<RequestRecord>();
  auto record = parse_record(text_of(rows.front(), 0));
  if (!record) return no_record(id, record.error().message);
  return std::optional<RequestRecord>(std::move(*record));
}

/// A new one is inserted, never replaced: of two who write it at the same time one has to begin anew.
void StockRows::remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl) {
  const std::string text = literal(record_text(record));
  if (!has_record_) {
    transaction_.write(insert_request(key_, id, text));
    if (ttl) transaction_.write(insert_reservation(key_, id, *ttl));
    return;
  }
  transaction_.write("UPDATE " + std::string(kRequestTable) + " SET record=" + text + " WHERE stock=" + key_ +
                     " AND id=" + literal(id.text()));
  if (ttl) {
    transaction_.write("UPDATE " + std::string(kReservationTable) + " SET expires=" + end_after(*ttl) +
                       " WHERE stock=" + key_ + " AND id=" + literal(id.text()));
  } else {
    transaction_.write("DELETE FROM " + of_request(kReservationTable, id));
  }
}

FencingToken StockRows::token(const LockName& id) {
  const auto rows = transaction_.read("SELECT token FROM " + of_request(kReservationTable, id));
  return rows.empty() ? FencingToken() : FencingToken(leading_number<std::uint64_t>(text_of(rows.front(), 0)));
}

void StockRows::give_back(const LockName& id, const RequestRecord& record) {
  for (const StockPart& part : record.parts) {
    move(part.segment, {.quantity = part.quantity, .reserved = -part.quantity});
  }
  for (const char* table : {kRequestTable, kReservationTable})
    transaction_.write("DELETE FROM " + of_request(table, id));
}

Result<std::vector<StockRows::Reservation>> StockRows::reservations(const std::string& condition) {
  std::vector<Reservation> found;
  for (const Row& row : transaction_.read("SELECT r.id,r.record FROM " + std::string(kReservationTable) + " o JOIN " +
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

/// Who sweeps the same at the same time waits at its row, and finds it gone.
Result<void> StockRows::sweep() {
  if (!overdue_) return {};
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
                       " WHERE stock=" + key_ + " AND id=" + literal(one.id.text()));
  }
  const std::string gone = of_stock(kSegmentTable) + " AND segment>=" + std::to_string(segments);
  const auto rows = transaction_.read("SELECT COALESCE(SUM(taken),0),COALESCE(SUM(refunded),0) FROM " + gone);
  if (!rows.empty()) move(0, {.taken = number_of(rows.front(), 0), .refunded = number_of(rows.front(), 1)});
  transaction_.write("DELETE FROM " + gone);
  return {};
}

Result<bool> StockRows::know(const LockName& name, const CallLimit& limit) {
  if (name_ && *name_ == name) return true;
  if (auto begun = begin(Access::kMake, limit); !begun) return begun.error();
  find(name);
  if (auto done = commit(); !done) return done.error();
  return name_.has_value();
}

Result<std::optional<NamedSegments::StockKey>> StockRows::find_key(const LockName& name, const CallLimit& limit) {
  using Key = NamedSegments::StockKey;
  const auto known = know(name, limit);
  if (!known) return known.error();
  return *known ? std::optional(Key{key_, segments_}) : std::optional<Key>();
}

Result<std::optional<StockAnswer>> StockRows::deduct_at_once(const StockRequest& request, const Owner* owner,
                                                             Duration ttl, int start, const CallLimit& limit) {
  return deduct_behind("", request, owner, ttl, start, limit);
}

Result<std::optional<StockAnswer>> StockRows::deduct_behind(const std::string& lock, const StockRequest& request,
                                                            const Owner* owner, Duration ttl, int start,
                                                            const CallLimit& limit) {
  const auto known = know(request.stock, limit);
  if (!known) return known.error();
  if (!*known) return std::optional<StockAnswer>();
  auto answer = Deduction(transaction_, settings_.stock, key_, segments_, lock).run(request, owner, ttl, start, limit);
  reserved_at_once_.reset();
  if (const auto* taken = answer && *answer ? std::get_if<StockTaken>(&**answer) : nullptr; taken && owner) {
    RequestRecord record{RequestRecord::State::kReserved, request.quantity, taken->parts, owner->text(), 0};
    reserved_at_once_ = Reservation{request.id, std::move(record)};
  }
  return answer;
}

Result<std::optional<StockState>> StockRows::state_at_once(const LockName& name, const CallLimit& limit) {
  if (!name_ || *name_ != name) return std::optional<StockState>();
  const std::string key = key_;
  if (auto begun = begin(Access::kShared, limit); !begun) return begun.error();
  const auto rows = transaction_.commit(find_query(name) + ";" + state_query());
  if (!rows && transaction_.is_worth_repeating()) return std::optional<StockState>();
  if (!rows) return rows.error();
  if (!read_stock(name, *rows) || key_ != key || overdue_) return std::optional<StockState>();
  auto state = read_state(*rows);
  if (!state) return state.error();
  return std::optional<StockState>(std::move(*state));
}

/// As with a deduction, the row that is changed first lets the others follow.
Result<bool> StockRows::confirm_at_once(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  const auto made = std::exchange(reserved_at_once_, std::nullopt);
  const bool ours =
      made && name_ && *name_ == request.stock && made->id == request.id && made->record.owner == owner.text();
  if (!ours) return false;
  RequestRecord sold = made->record;
  sold.state = RequestRecord::State::kTaken;
  if (auto begun = begin(Access::kShared, limit); !begun) return begun.error();
  const std::string if_sold = " AND LAST_INSERT_ID()=1";
  const std::string of_it = " WHERE stock=" + key_ + " AND id=" + literal(request.id.text());
  if (segment_locks_.hold()) {  // while the command ran; the next one need not wait for our books
    transaction_.write(segment_locks_.release_statement());
    segment_locks_.released();
  }
  transaction_.write("DO LAST_INSERT_ID(0)");
  transaction_.write("UPDATE " + std::string(kRequestTable) + " SET record=IF(LAST_INSERT_ID(1)," +
                     literal(record_text(sold)) + ",record)" + of_it +
                     " AND record=" + literal(record_text(made->record)) + " AND EXISTS (SELECT 1 FROM " +
                     of_request(kReservationTable, request.id) + " AND expires>UTC_TIMESTAMP(6))");
  for (const StockPart& part : sold.parts) {
    const std::string quantity = std::to_string(part.quantity);
    transaction_.write("UPDATE " + std::string(kSegmentTable) + " SET version=version+1,reserved=reserved-" + quantity +
                       ",taken=taken+" + quantity + " WHERE stock=" + key_ +
                       " AND segment=" + std::to_string(part.segment) + if_sold);
  }
  transaction_.write("DELETE FROM " + of_request(kReservationTable, request.id) + if_sold);
  const auto rows = transaction_.commit("SELECT LAST_INSERT_ID()");
  if (!rows && transaction_.is_worth_repeating()) return false;
  if (!rows) return commit_error(rows.error());
  return rows->size() == 1 && text_of(rows->front(), 0) == "1";
}

}  // namespace dlock::mysql
