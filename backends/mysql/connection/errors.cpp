// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/errors.h"

#include <algorithm>
#include <initializer_list>

#include "lib/base/human_text.h"

namespace dlock::mysql {
namespace {

bool is_one_of(int code, std::initializer_list<int> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

/// The library has one number for a connection that broke and for a certificate that will never do.
bool is_about_trust(const std::string& text) {
  return text.find("certificate") != std::string::npos || text.find("not support") != std::string::npos ||
         text.find("no TLS") != std::string::npos;
}

/// 1290 names the option that forbids the statement; another one may.
bool tells_read_only(const Failure& failure) {
  const bool named =
      failure.text.find("read-only") != std::string::npos || failure.text.find("read_only") != std::string::npos;
  return is_read_only(failure.code) && (failure.code != 1290 || named);
}

constexpr char kDoctor[] = "look at it with: dlock doctor";

}  // namespace

bool is_cut_off(int code) {
  // 1053 shutdown, 1080 forced close, 1152-1161 aborted and packets, 1927 killed, 4031 idle (MySQL 8)
  return (code >= 2000 && code < 2060 && !is_one_of(code, {2014, 2019, 2030, 2031, 2032, 2033, 2034})) ||
         (code >= 1152 && code <= 1161) || is_one_of(code, {1053, 1080, kAborted, 1189, 1190, 1927, 4031});
}

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

bool is_unknown_view(int code) { return code == 1109; }

Error error_of(const Failure& failure, const std::string& server) {
  const std::string number = failure.code == 0 ? "" : " (error " + std::to_string(failure.code) + ")";
  const std::string said = printable(failure.text, kForeignWords) + number;
  if (failure.cancelled) {
    return {ErrorCode::kUnavailable, server + " did not answer in time",
            "it hangs (is it a MySQL server that listens there?), or a session keeps dlock's tables from all others "
            "(LOCK TABLES, FLUSH TABLES WITH READ LOCK, ALTER TABLE); look with: dlock doctor"};
  }
  switch (failure.code) {
    case 1045:  // access denied
    case 1130:  // host not allowed
    case 1251:  // old client
    case 1698:  // access denied, socket
    case 1820:  // password expired
    case 1862:
    case 2059:  // authentication plugin
    case 3118:  // account locked (MySQL)
    case 3955:  // the same, by failed logins
    case 4151:  // account locked (MariaDB)
      return {ErrorCode::kDenied, server + " refused the login: " + said,
              "check user and password (password-file, DLOCK_PASSWORD), and whether the account needs TLS (ca-file)"};
    case 1044:
    case 1095:
    case 1142:
    case 1143:
    case 1227:
    case 1370:
      return {ErrorCode::kDenied, server + ": " + said, "the privileges that are needed: dlock setup --print"};
    case 1049:
      return {ErrorCode::kMisconfigured, server + ": " + said, "name an existing database in the URL"};
    case 1021:
    case 1030:
    case 1037:
    case 1038:
    case 1041:
    case 1114:
      return {ErrorCode::kSystem, server + " cannot store it: " + said, "look at disk space and memory of the server"};
    case 1040:
      return {ErrorCode::kUnavailable, server + " has no connection left: " + said,
              "raise max_connections; every holder and every waiter needs one"};
    case 1203:
    case 1226:
      return {
          ErrorCode::kUnavailable, server + ": a limit of this account is reached: " + said,
          "raise it (ALTER USER ... WITH, or max_user_connections); every holder and every waiter needs a connection"};
    case 1406:  // of the entries alone: all else fits its column
      return {ErrorCode::kUnsupported, server + " has no room for one more dlock inside this lock: " + said,
              "run fewer at the same time there, or use strategy=lease"};
    case 1153:
    case 2020:  // the same, as the library hears it
      return {ErrorCode::kMisconfigured, server + " finds a statement of dlock too long: " + said,
              "raise max_allowed_packet there, to 64 KiB at least"};
    case 1665:  // a change that READ COMMITTED makes cannot be written down as a statement
      return {ErrorCode::kMisconfigured, server + " logs statements, which dlock's changes are not: " + said,
              "set binlog_format=ROW there, or MIXED"};
    case 2005:
      return {ErrorCode::kUnavailable, "cannot reach " + server + ": there is no host of that name",
              "check the name in the URL, and DNS"};
    case 2002:
    case 2003:
      return {ErrorCode::kUnavailable, "cannot reach " + server + ": " + said, "is the server running there?"};
    case kLoginRefused:
      return {ErrorCode::kDenied,
              server + " asks for the password by " + failure.text + ", which could show it; it was not sent",
              "use TLS (ca-file=FILE in the URL), or an account with mysql_native_password or ed25519"};
    case kAborted:
      return {ErrorCode::kUnavailable, server + " refused the session: " + said,
              "where init_connect fails, the server's log says why"};
    case kTooMuch:
      return {ErrorCode::kUnavailable, server + " answered with " + failure.text, kDoctor};
    case kTlsError:
      return {is_about_trust(failure.text) ? ErrorCode::kMisconfigured : ErrorCode::kUnavailable,
              "no secure connection to " + server + ": " + said,
              "check ca-file and the name in the server's certificate"};
    default:
      break;
  }
  if (is_wrong_table(failure.code)) {
    return {ErrorCode::kMisconfigured, server + ": dlock's tables are missing or of another version: " + said,
            "create them with: dlock setup"};
  }
  if (tells_read_only(failure)) {
    return {ErrorCode::kUnavailable, server + " is read-only (a replica?): " + said, "name the primary in the URL"};
  }
  if (failure.cut_off) return {ErrorCode::kUnavailable, "cannot reach " + server + ": " + said, kDoctor};
  return {ErrorCode::kUnavailable, server + " refused: " + said, kDoctor};
}

}  // namespace dlock::mysql
