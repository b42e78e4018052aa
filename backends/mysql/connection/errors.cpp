// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/errors.h"

#include <algorithm>
#include <initializer_list>

#include "lib/base/human_text.h"
#include "lib/net/meanings.h"

namespace dlock::mysql {
namespace {

bool is_one_of(int code, std::initializer_list<int> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

/// 1290 names the option that forbids the statement; another one may.
bool tells_read_only(const Failure& failure) {
  const bool named =
      failure.text.find("read-only") != std::string::npos || failure.text.find("read_only") != std::string::npos;
  return is_read_only(failure.code) && (failure.code != 1290 || named);
}

constexpr char kDoctor[] = "look at it with: dlock doctor";

/// Unavailable is only what ends by itself, or with a new connection; a refusal for good is denied, misconfigured or
/// unsupported. What is not here and does not cut the connection off is for good too. dlock-mysql(7) tells the kinds.
constexpr Meaning kMeanings[] = {
    // access denied, host not allowed, old client, by socket, password expired, plugin, account locked; 2012: whatever
    // the client library makes of a server that goes on in another way than the account's
    {ErrorCode::kDenied, "% refused the login: ",
     "check user and password (password-file, DLOCK_PASSWORD), and whether the account needs TLS (ca-file)",
     "1045 1130 1251 1698 1820 1862 2012 2059 3118 3955 4151"},
    {ErrorCode::kDenied, "%: ", "the privileges that are needed: dlock setup --print", "1044 1095 1142 1143 1227 1370"},
    {ErrorCode::kDenied, "% wants TLS: ", "name the CA of the server in the URL: ca-file=FILE", "3159"},
    {ErrorCode::kMisconfigured, "%: ", "name an existing database in the URL", "1049"},
    {ErrorCode::kSystem, "% cannot store it: ", "look at disk space and memory of the server",
     "1021 1030 1037 1038 1041 1114"},
    {ErrorCode::kUnavailable,
     "% has no connection left: ", "raise max_connections; every holder and every waiter needs one", "1040"},
    {ErrorCode::kUnavailable, "%: a limit of this account is reached: ",
     "raise it (ALTER USER ... WITH, or max_user_connections); every holder and every waiter needs a connection",
     "1203 1226"},
    {ErrorCode::kMisconfigured,
     "% has a column that is too short for what dlock writes: ", "make it as long as in dlock setup --print", "1406"},
    {ErrorCode::kMisconfigured,
     "% rejects a statement of dlock as too long: ", "raise max_allowed_packet there, to 64 KiB at least", "1153 2020"},
    // a change that READ COMMITTED makes cannot be written down as a statement
    {ErrorCode::kMisconfigured,
     "% logs statements, but dlock's changes need row logging: ", "set binlog_format=ROW there, or MIXED", "1665"},
    {ErrorCode::kMisconfigured,
     "%: dlock's tables are missing or of another version: ", "create them with: dlock setup", "1054 1136 1146 1364"},
    {ErrorCode::kUnsupported, "% has no named locks: ", "use strategy=lease", "1235 1178 1295"},
    {ErrorCode::kUnavailable, "% is read-only (a replica?): ", "name the primary in the URL",
     "1036 1290 1792 1836 3100 3101"},
    // offline mode, shutting down, and what is not served while a group of servers changes its primary
    {ErrorCode::kUnavailable, "% does not serve just now: ", kDoctor, "3032 3168 3796 3797"},
    // a node that is not of the primary component, or gets its data
    {ErrorCode::kUnavailable, "% is a node that its Galera cluster does not let serve yet: ", kDoctor, "1047"},
    {ErrorCode::kUnavailable, "% no longer accepts connections from this machine: ",
     "too many connections from here were broken: FLUSH HOSTS there", "1129"},
    {ErrorCode::kUnavailable, "another session keeps a row or a table of dlock's on %: ",
     "look for it with SHOW PROCESSLIST (LOCK TABLES, FLUSH TABLES WITH READ LOCK, ALTER TABLE) and SHOW ENGINE INNODB "
     "STATUS",
     "1205"},
    {ErrorCode::kUnavailable, "% gave up a statement, as in a deadlock: ", kDoctor,
     "1020 1213 1317 1969 3024 3058 3572 1180"},
    {ErrorCode::kUnavailable, "cannot reach %: there is no host with that name: ", "check the name in the URL, and DNS",
     "2005"},
    {ErrorCode::kUnavailable, "cannot reach %: ", "is the server running there?", "2002 2003"},
    {ErrorCode::kUnavailable, "% refused the session: ", "if init_connect fails, the server's log says why", "1184"},
    {ErrorCode::kUnavailable, "% answered with ", kDoctor, "-1"},
};

Error meant_by(const Failure& failure, const std::string& server) {
  const std::string number = failure.code <= 0 ? "" : " (error " + std::to_string(failure.code) + ")";
  const std::string said = printable(failure.text, kForeignWords) + number;
  if (failure.cancelled) {
    return {ErrorCode::kUnavailable, server + " did not answer in time",
            "it hangs (is it a MySQL server that listens there?), or a session keeps dlock's tables from all others "
            "(LOCK TABLES, FLUSH TABLES WITH READ LOCK, ALTER TABLE); look with: dlock doctor"};
  }
  if (failure.code == kUnanswered) return refused_certificate(server, said);
  if (failure.code == kLoginRefused) {
    return {ErrorCode::kDenied,
            server + " asks for the password by " + failure.text + ", which could show it; it was not sent",
            "use TLS (ca-file=FILE in the URL); on MariaDB an account with ed25519 or mysql_native_password does, too"};
  }
  if (is_read_only(failure.code) && !tells_read_only(failure))
    return {ErrorCode::kMisconfigured, server + " refused: " + said, kDoctor};
  const Meaning* known = failure.code == 0 ? nullptr : find_meaning(kMeanings, std::to_string(failure.code));
  if (!known) return error_without_meaning(is_cut_off(failure.code) || failure.code == 0, server, said);
  Error error = dlock::error_of(*known, server, said);
  error.undone = is_read_only(failure.code);
  return error;
}

/// Whoever waits for other transactions is refused nothing.
bool has_answered(const Failure& failure) {
  return failure.code != 0 && !failure.cancelled && !is_cut_off(failure.code) && !is_worth_repeating(failure.code);
}

}  // namespace

bool is_cut_off(int code) {
  // 1053 shutdown, 1080 forced close, 1152-1161 aborted and packets, 1927 killed, 3032 offline mode, 4031 idle (MySQL
  // 8)
  return (code >= 2000 && code < 2060 && !is_one_of(code, {2014, 2019, 2030, 2031, 2032, 2033, 2034})) ||
         (code >= 1152 && code <= 1161) || is_one_of(code, {1053, 1080, kAborted, 1189, 1190, 1927, 3032, 4031});
}

bool may_be_refused(const Failure& failure) { return is_one_of(failure.code, {2006, 2013, 2055}); }

bool is_worth_repeating(int code) {
  // 1205 lock wait, 1213 deadlock, 1317 interrupted, 1969 statement time, 3058 deadlock of named locks (MySQL 8),
  // 3572 NOWAIT (MySQL 8), 1020 record changed (MariaDB snapshot isolation)
  return is_one_of(code, {1020, 1205, 1213, 1317, 1969, 3024, 3058, 3572});
}

bool is_locked_row(int code) { return is_one_of(code, {1205, 3572}); }

// 1036: MariaDB with innodb_read_only
bool is_read_only(int code) { return is_one_of(code, {1036, 1290, 1792, 1836, 3100, 3101}); }

Failure read_only_is_set() { return {1290, "@@global.read_only is set", false, false}; }

bool is_without_named_locks(int code) { return is_one_of(code, {1235, 1178, 1295}); }

bool is_wrong_table(int code) { return is_one_of(code, {1054, 1136, 1146, 1364}); }

Error error_of(const Failure& failure, const std::string& server) {
  Error error = meant_by(failure, server);
  if (has_answered(failure)) error.outage = Outage::kRefused;
  return error;
}

Error error_of_login(const Failure& failure, const std::string& server) {
  if (failure.code != kTlsError) return error_of(failure, server);
  const std::string said = printable(failure.text, kForeignWords) + " (error " + std::to_string(kTlsError) + ")";
  return error_of_tls(failure.text, server, said,
                      "check ca-file, and that the server's certificate is for the host of the URL (one that MySQL has "
                      "made by itself is for none)");
}

}  // namespace dlock::mysql
