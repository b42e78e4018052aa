// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/settings.h"

#include <doctest/doctest.h>

#include "backends/mysql/connection/admin.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/schema.h"
#include "backends/mysql/connection/sql_text.h"

namespace dlock::mysql::settings_test {
namespace {

using namespace std::chrono_literals;
using Verdict = Finding::Verdict;

Result<Settings> settings(const std::string& text) {
  const auto url = BackendUrl::parse(text);
  REQUIRE(url);
  return settings_of(*url, 5s);
}

TEST_CASE("a URL names servers, database and strategy") {
  const auto read = settings("mysql://app:pw@h1,[::1]:3307/shop?strategy=session");
  REQUIRE(read);
  REQUIRE(read->servers.size() == 2);
  CHECK(read->servers[0].endpoint.text() == "h1:3306");
  CHECK(read->servers[1].endpoint.text() == "[::1]:3307");
  CHECK(read->servers[0].user == "app");
  CHECK(read->servers[0].password == "pw");
  CHECK(read->servers[0].database == "shop");
  CHECK_FALSE(read->servers[0].tls.has_value());
  CHECK(read->strategy == Strategy::kSession);
  CHECK(read->store.find("pw") == std::string::npos);
  CHECK(settings("mysql://h/db")->strategy == Strategy::kLease);
  CHECK(settings("mysql:///db?socket=/run/m.sock")->servers[0].endpoint.text() == "/run/m.sock");
}

TEST_CASE("TLS is the whole of it or nothing: what would be half of it is refused") {
  const auto whole = settings("mysql://h/db?ca-file=/dev/null");
  REQUIRE(whole);
  CHECK(whole->servers[0].tls->ca_file == "/dev/null");
  for (const char* query :
       {"cert-file=/dev/null", "key-file=/dev/null", "ca-file=/dev/null&cert-file=/dev/null", "ca-file=/nowhere/ca.crt",
        "ca-file=/dev/null&server-name=other", "ca-file=/dev/null&socket=/run/m.sock"}) {
    CAPTURE(query);
    const std::string host = std::string(query).find("socket") == std::string::npos ? "h" : "";
    const auto half = settings("mysql://" + host + "/db?" + query);
    REQUIRE_FALSE(half);
    CHECK((half.error().code == ErrorCode::kMisconfigured || half.error().code == ErrorCode::kUnsupported));
  }
}

TEST_CASE("a row of the user's is TABLE:COLUMN=VALUE, and nothing that is no name gets into a statement") {
  const auto row = settings("mysql://h/db?strategy=row&row=orders:id=4=2")->row;
  REQUIRE(row);
  CHECK(row->table == "orders");
  CHECK(row->column == "id");
  CHECK(row->value == "4=2");
  for (const char* text : {"orders", "orders:id", "orders=id:4", ":id=4", "orders:=4", "orders:id=", "a`b:id=1",
                           "orders:id%20or%201=1", "db.orders:id=1"}) {
    CAPTURE(text);
    CHECK_FALSE(settings(std::string("mysql://h/db?strategy=row&row=") + text));
  }
}

TEST_CASE("a table of the user's has the names of the URL, and the articles' states; dlock's own keeps its names") {
  const auto rows =
      settings("mysql://h/db?strategy=occupy&table=method_lock&column=method_name&version=v&taken=3")->rows;
  CHECK(rows.is_users());
  CHECK(rows.table == "method_lock");
  CHECK(rows.name == "method_name");
  CHECK(rows.state == "state");
  CHECK(rows.version == "v");
  CHECK(rows.free == "1");
  CHECK(rows.taken == "3");
  CHECK(settings("mysql://h/db?strategy=unique&table=t")->rows.state.empty());
  CHECK_FALSE(settings("mysql://h/db?strategy=unique")->rows.is_users());
  CHECK(settings("mysql://h/db?strategy=occupy")->rows.free == "0");
  for (const char* text :
       {"strategy=unique&table=a`b", "strategy=unique&table=db.t", "strategy=unique&table=t&column=c%20d",
        "strategy=occupy&state=s", "strategy=occupy&free=1", "strategy=occupy&table=t&taken=1"}) {
    CAPTURE(text);
    const auto url = BackendUrl::parse(std::string("mysql://h/db?") + text);
    CHECK_FALSE((url && settings_of(*url, 5s)));
  }
}

TEST_CASE("what a table of the user's lacks is named, with the statement that adds it") {
  RowTable table = own_row_table(Strategy::kUnique);
  table.table = "t", table.name = "n", table.prefix = "dlock_";
  CHECK(judge_row_table(table, {}, "h").error().message.find("no table t") != std::string::npos);
  Answer columns{{{"n", "varchar", "1", "1", "1"}}, 0};
  for (const char* ours : {"owner", "token", "since", "expires", "info", "entries"}) {
    columns.rows.push_back({std::string("dlock_") + ours, "varbinary", "1", "0", "0"});
  }
  CHECK(judge_row_table(table, columns, "h"));
  const auto lacks = [&](const Row& row, const std::string& what, const std::string& change) {
    Answer others = columns;
    others.rows[0] = row;
    const auto judged = judge_row_table(table, others, "h");
    REQUIRE_FALSE(judged);
    CHECK(judged.error().message == "the table t on h lacks " + what);
    CHECK(judged.error().next == "ALTER TABLE `t` " + change);
  };
  lacks({"n", "varchar", "1", "1", "0"}, "a unique index on n", "ADD UNIQUE KEY (`n`)");
  lacks({"n", "int", std::nullopt, "1", "1"}, "room for this key in n", "MODIFY COLUMN `n` VARCHAR(255) NOT NULL");
  lacks({"x", "int", std::nullopt, "1", "0"}, "the column n, a default in x",
        "ADD COLUMN `n` VARBINARY(255) NOT NULL UNIQUE, ALTER COLUMN `x` SET DEFAULT 0");
}

TEST_CASE("text from outside goes into statements as hexadecimal bytes") {
  CHECK(literal("k'; --\\") == "x'6b273b202d2d5c'");
  CHECK(literal("") == "x''");
  CHECK(identifier("a`b") == "`a``b`");
}

TEST_CASE("an error's number says whether the outcome is known and what to do") {
  struct Case {
    int code;
    bool cut_off, repeat, read_only, no_gates;
  };
  for (const Case& c : {Case{1062, false, false, false, false}, Case{1213, false, true, false, false},
                        Case{1205, false, true, false, false}, Case{3572, false, true, false, false},
                        Case{3058, false, true, false, false}, Case{1235, false, false, false, true},
                        Case{1290, false, false, true, false}, Case{1836, false, false, true, false},
                        Case{1036, false, false, true, false}, Case{2002, true, false, false, false},
                        Case{2006, true, false, false, false}, Case{2013, true, false, false, false},
                        Case{2026, true, false, false, false}, Case{2014, false, false, false, false},
                        Case{1053, true, false, false, false}, Case{1927, true, false, false, false},
                        Case{4031, true, false, false, false}, Case{3032, true, false, false, false},
                        Case{1045, false, false, false, false}}) {
    CAPTURE(c.code);
    CHECK(is_cut_off(c.code) == c.cut_off);
    CHECK(is_worth_repeating(c.code) == c.repeat);
    CHECK(is_read_only(c.code) == c.read_only);
    CHECK(is_without_named_locks(c.code) == c.no_gates);
  }
}

TEST_CASE("unreachable is only what ends by itself or with another connection; everything else is for good") {
  const std::pair<ErrorCode, std::vector<int>> table[] = {
      {ErrorCode::kUnavailable,
       {2002, 2003, 2005, 2006, 2013, 1053, 1080, 1158, 1184, 1927, 4031, 3032, 3168, 3796, 3797, 1040, 1203,
        1226, 1129, 1036, 1792, 1836, 3100, 3101, 1047, 1020, 1180, 1205, 1213, 1317, 1969, 3024, 3058, 3572}},
      {ErrorCode::kSystem, {1021, 1030, 1037, 1038, 1041, 1114}},
      {ErrorCode::kDenied,
       {1045, 1130, 1251, 1698, 1820, 1862, 2012, 2059, 3118, 3159, 3955, 4151, 1044, 1095, 1142, 1143, 1227, 1370}},
      {ErrorCode::kMisconfigured,
       {1049, 1054, 1136, 1146, 1364, 1153, 2020, 1665, 1064, 1193, 1231, 1290, 1366, 1406, 1690, 2014}},
      {ErrorCode::kUnsupported, {1178, 1235, 1295}}};
  for (const auto& [code, numbers] : table) {
    for (const int number : numbers) {
      CAPTURE(number);
      const Error error = error_of({number, "says so", is_cut_off(number), false}, "h:3306");
      CHECK(error.code == code);
      CHECK(error.message.find("h:3306") != std::string::npos);
      CHECK(error.message.find("says so") != std::string::npos);
      CHECK_FALSE(error.next.empty());
      if (code == ErrorCode::kUnavailable)
        CHECK((error.outage == Outage::kSilent) == (is_cut_off(number) || is_worth_repeating(number)));
    }
  }
}

TEST_CASE("an option that forbids a statement makes a server read-only if it is named so") {
  const auto message = [](const char* text) { return error_of({1290, text, false, false}, "h:3306").message; };
  CHECK(message("running with the --read-only option").find("h:3306 is read-only") == 0);
  CHECK(message("running with the --super-read-only option").find("h:3306 is read-only") == 0);
  CHECK(message("running with the --skip-grant-tables option").find("h:3306 refused: running") == 0);
}

TEST_CASE("files or a certificate that will never do are no passing trouble, a broken TLS connection is") {
  const auto error = [](const char* text) { return error_of_login({2026, text, true, false}, "h:3306"); };
  CHECK(error("TLS/SSL error: SSL is required, but the server does not support it").code == ErrorCode::kMisconfigured);
  CHECK(error("TLS/SSL error: unexpected eof while reading").code == ErrorCode::kUnavailable);
  const Error mismatch = error("TLS/SSL error: key values mismatch");
  CHECK(mismatch.code == ErrorCode::kMisconfigured);
  CHECK(mismatch.next.find("cert-file and key-file") == 0);
  CHECK(error("TLS/SSL error: sslv3 alert certificate expired").code == ErrorCode::kDenied);
  CHECK(error_of({-3, "x", true, false}, "h:3306").code == ErrorCode::kDenied);
}

TEST_CASE("limits of a server and its silence are told apart, each with what to do") {
  struct Case {
    Failure failure;
    ErrorCode code;
    const char* message;
    const char* next;
  };
  const Failure silence{0, "no answer in time", true, true};
  for (const Case& c :
       {Case{{1040, "x", true, false}, ErrorCode::kUnavailable, "has no connection left", "max_connections"},
        Case{{1203, "x", true, false}, ErrorCode::kUnavailable, "limit of this account", "ALTER USER"},
        Case{{1226, "x", false, false}, ErrorCode::kUnavailable, "limit of this account", "ALTER USER"},
        Case{{1153, "x", true, false}, ErrorCode::kMisconfigured, "too long", "max_allowed_packet"},
        Case{{2020, "x", true, false}, ErrorCode::kMisconfigured, "too long", "max_allowed_packet"},
        Case{{1184, "x", true, false}, ErrorCode::kUnavailable, "refused the session", "init_connect"},
        Case{{3159, "x", true, false}, ErrorCode::kDenied, "wants TLS", "ca-file=FILE"},
        Case{{2026, "certificate", true, false}, ErrorCode::kMisconfigured, "", "by itself is for none"},
        Case{{3032, "x", true, false}, ErrorCode::kUnavailable, "does not serve just now", "dlock doctor"},
        Case{silence, ErrorCode::kUnavailable, "did not answer in time", "LOCK TABLES"},
        Case{silence, ErrorCode::kUnavailable, "did not answer in time", "is it a MySQL server"},
        Case{silence, ErrorCode::kUnavailable, "did not answer in time", "dlock doctor"}}) {
    CAPTURE(c.failure.code);
    const Error error = error_of_login(c.failure, "h:3306");
    CHECK(error.code == c.code);
    CHECK(error.message.find("h:3306") != std::string::npos);
    CHECK(error.message.find(c.message) != std::string::npos);
    CHECK(error.next.find(c.next) != std::string::npos);
  }
}

TEST_CASE("a server's words are cut between two characters, and never steer a terminal") {
  const Failure long_words{1049, std::string(252, 'x') + "\u00fc and more\033[2J", false, false};
  CHECK(error_of(long_words, "h").message == "h: " + std::string(252, 'x') + "\u2026 (error 1049)");
}

TEST_CASE("what is printed for an administrator names every table and every right") {
  const std::string script = setup_script("shop", {});
  for (const char* table : {kDataTable, kRowTable, kUniqueTable, kOccupyTable}) {
    CAPTURE(table);
    CHECK(script.find("CREATE TABLE IF NOT EXISTS " + std::string(table)) != std::string::npos);
    CHECK(script.find("GRANT SELECT, INSERT, UPDATE, DELETE ON `shop`." + std::string(table)) != std::string::npos);
  }
  CHECK(script.find("COMMENT='dlock tables 1'") != std::string::npos);
}

TEST_CASE("doctor judges what a server says of itself") {
  struct Case {
    const char* name;
    const char* value;
    Strategy strategy;
    bool alone;
    Verdict verdict;
  };
  for (const Case& c : {Case{"version", "10.11.19-MariaDB", Strategy::kLease, true, Verdict::kOk},
                        Case{"version", "8.0.36", Strategy::kLease, true, Verdict::kOk},
                        Case{"version", "5.7.44", Strategy::kLease, true, Verdict::kWarn},
                        Case{"read_only", "OFF", Strategy::kLease, true, Verdict::kOk},
                        Case{"read_only", "ON", Strategy::kLease, true, Verdict::kFail},
                        Case{"read_only", "ON", Strategy::kLease, false, Verdict::kOk},
                        Case{"wsrep_on", "ON", Strategy::kLease, true, Verdict::kOk},
                        Case{"wsrep_on", "ON", Strategy::kSession, true, Verdict::kFail},
                        Case{"wsrep_on", "ON", Strategy::kUnique, true, Verdict::kOk},
                        Case{"innodb_flush_log_at_trx_commit", "1", Strategy::kLease, true, Verdict::kOk},
                        Case{"innodb_flush_log_at_trx_commit", "2", Strategy::kLease, true, Verdict::kWarn},
                        Case{"max_connections", "50", Strategy::kLease, true, Verdict::kWarn},
                        Case{"max_connections", "500", Strategy::kLease, true, Verdict::kOk}}) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    const auto findings = judge_variables("h:3306", {{c.name, c.value}}, c.strategy, c.alone);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].verdict == c.verdict);
    CHECK((findings[0].verdict == Verdict::kOk) == findings[0].remedy.empty());
  }
}

}  // namespace
}  // namespace dlock::mysql::settings_test
