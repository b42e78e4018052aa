// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/errors.h"

#include <algorithm>
#include <span>

#include "lib/base/human_text.h"
#include "lib/net/meanings.h"

namespace dlock::postgres {
namespace {

constexpr char kDoctor[] = "look at it with: dlock doctor";
constexpr char kOfPooler[] = "08P01";
// States that no server has.
constexpr char kPlain[] = "plain";  ///< the server wants the password itself
constexpr char kOther[] = "other";  ///< or a login that dlock cannot do

/// What the words of a failure without a state mean, or of a pooler, which has one state for all: the first that are
/// in it. libpq does not translate its own.
struct Words {
  std::string_view text, state;
};
constexpr Words kWordsOfLibrary[] = {{"authentication method requirement", kPlain},
                                     {"GSSAPI", kOther},
                                     {"SASL", kOther},
                                     {"authentication method", kOther},
                                     {"authentication not supported", kOther},
                                     {"session is read-only", "25006"}};
constexpr Words kWordsOfPooler[] = {{"authentication failed", "28000"},
                                    {"no such user", "28000"},
                                    {"login rejected", "28000"},
                                    {"not allowed", "28000"},
                                    {"no such database", "3D000"}};

std::string_view state_of(const Failure& failure) {
  if (!failure.state.empty() && failure.state != kOfPooler) return failure.state;
  const auto words = failure.state.empty() ? std::span<const Words>(kWordsOfLibrary) : kWordsOfPooler;
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const Words& one) { return failure.text.find(one.text) != std::string::npos; });
  return found == words.end() ? failure.state : found->state;
}

/// Unavailable is only what ends by itself, or with a new connection; a refusal for good is denied, misconfigured or
/// unsupported. What is not here and does not cut the connection off is for good too. dlock-postgres(7) has the same
/// table.
constexpr Meaning kMeanings[] = {
    {ErrorCode::kDenied, "% refused the login: ",
     "check user and password (password-file, DLOCK_PASSWORD), and pg_hba.conf there, which may want TLS (ca-file)",
     "28*"},
    {ErrorCode::kDenied, "% asks for the password itself, which could show it; it was not sent: ",
     "use TLS (ca-file=FILE in the URL), or scram-sha-256 in pg_hba.conf there", kPlain},
    {ErrorCode::kDenied, "% wants a login that dlock cannot do: ",
     "let pg_hba.conf there ask this user for a password (scram-sha-256) or a certificate", kOther},
    {ErrorCode::kDenied, "%: ", "the privileges that are needed: dlock setup --print", "42501"},
    {ErrorCode::kMisconfigured, "%: ", "name an existing database in the URL", "3D000"},
    {ErrorCode::kMisconfigured, "%: what dlock keeps its data in is missing or of another version: ",
     "create it with: dlock setup; if it is there, dlock doctor says what hides it", "42P01 42703 42883 42804"},
    {ErrorCode::kMisconfigured, "%: no schema in the search_path of this user can be used: ",
     "GRANT USAGE ON SCHEMA there (for dlock setup CREATE, too), or ALTER ROLE ... SET search_path", "3F000"},
    {ErrorCode::kUnavailable, "% is read-only (a standby?): ", "name the primary in the URL, or all servers", "25006"},
    {ErrorCode::kUnavailable, "% has no connection left: ",
     "raise max_connections, or this account's CONNECTION LIMIT; every holder and every waiter needs one", "53300"},
    {ErrorCode::kSystem, "% cannot store it: ", "look at disk space and memory of the server",
     "53100 53200 53400 58030"},
    {ErrorCode::kUnavailable, "another session keeps a row or a table of dlock's on %: ",
     "look for it in pg_stat_activity and pg_locks (LOCK TABLE, ALTER TABLE, VACUUM FULL)", "55P03"},
    {ErrorCode::kUnavailable, "% does not serve just now: ", kDoctor, "57P*"},
    {ErrorCode::kUnavailable, "% gave up a statement: ", kDoctor, "40* 55* 57* 25P*"},
    {ErrorCode::kUnavailable, "cannot reach %: ", kDoctor, "08*"},
};

Error without_state(const Failure& failure, const std::string& server, const std::string& said) {
  if (failure.timed_out) {
    return {ErrorCode::kUnavailable, server + " did not answer in time",
            "it hangs (is it a PostgreSQL server that listens there?), or a session keeps dlock's tables from all "
            "others; look with: dlock doctor"};
  }
  for (const std::string_view of_tls : {"certificate", "private key", "SSL error: ", "does not support SSL"}) {
    if (failure.text.find(of_tls) == std::string::npos) continue;
    return error_of_tls(failure.text, server, said,
                        "check ca-file, and that the server's certificate is for the host of the URL (or server-name)");
  }
  return {ErrorCode::kUnavailable, "cannot reach " + server + ": " + said, "is the server running there?"};
}

Error meant_by(const Failure& failure, const std::string& server) {
  const std::string said = printable(failure.text, kForeignWords);
  const std::string_view state = state_of(failure);
  if (state.empty()) return without_state(failure, server, said);
  const std::string words = failure.state.empty() ? said : said + " (SQLSTATE " + failure.state + ")";
  const Meaning* known = find_meaning(kMeanings, state);
  if (!known) return error_without_meaning(failure.cut_off, server, words);
  Error error = dlock::error_of(*known, server, words);
  error.undone = failure.state == "25006";
  return error;
}

/// A server that starts or ends has answered nothing; whoever waits for other transactions is refused nothing.
bool has_answered(const Failure& failure) {
  return !failure.state.empty() && !failure.state.starts_with("57P") && !failure.state.starts_with("08") &&
         !is_worth_repeating(failure);
}

}  // namespace

bool is_worth_repeating(const Failure& failure) {
  return failure.state == "40001" || failure.state == "40P01" || failure.state == "55P03";
}

bool is_read_only(const Failure& failure) { return state_of(failure) == "25006"; }

bool is_refused_login(const Failure& failure) { return state_of(failure).starts_with("28"); }

Error error_of(const Failure& failure, const std::string& server) {
  Error error = meant_by(failure, server);
  if (has_answered(failure)) error.outage = Outage::kRefused;
  return error;
}

std::string state_in(std::string_view message) {
  constexpr std::string_view kBefore = ":  ";
  constexpr std::size_t kState = 5;
  const auto is_of_state = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = message.find(kBefore); at != std::string_view::npos; at = message.find(kBefore, at + 1)) {
    const std::string_view state = message.substr(at + kBefore.size(), kState + 1);
    const bool fits =
        state.size() == kState + 1 && state.back() == ':' && std::all_of(state.begin(), state.end() - 1, is_of_state);
    if (fits) return std::string(state.substr(0, kState));
  }
  return {};
}

}  // namespace dlock::postgres
