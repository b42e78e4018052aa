// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/command_table.h"

#include <algorithm>
#include <bit>

#include "lib/config/suggest.h"

namespace dlock {
namespace {

/// Words of other tools, separated by blanks, and what is written here. A near name of dlock's own would be the
/// opposite of some of them.
struct ForeignWords {
  std::string_view words;
  std::string_view next;
};

constexpr ForeignWords kCommands[] = {
    {"unlock", "a lease of acquire: dlock release KEY --owner OWNER; another holder's lock: dlock force-release KEY"},
    {"rm del delete remove",
     "a lease of acquire: dlock release KEY --owner OWNER; another lock: dlock force-release KEY"},
    {"lock exec with", "run a command under a lock: dlock run KEY -- CMD"},
    {"kill steal break", "free another holder's lock: dlock force-release KEY"},
    {"ls list show status who ps info holders", "who holds it: dlock inspect [KEY]"},
    {"top watch monitor", "a live view: dlock inspect --watch"},
    {"log logs events", "what happened: dlock history [KEY]"},
    {"extend refresh keepalive", "a lease of acquire: dlock renew KEY --owner OWNER"},
    {"init", "what a store needs on its server: dlock setup"},
    {"stats", "numbers for a monitor: dlock metrics; how fast the store is: dlock bench"},
    {"verify", "it is a program of the tests, in the source of dlock"},
    {"test", "is the key free: dlock wait -n KEY; is a token the holder's: dlock check KEY TOKEN"},
};

constexpr ForeignWords kStockActions[] = {
    {"list ls inspect status get", "what is left: dlock stock show [NAME]"},
    {"buy sell order deduct reserve hold",
     "dlock stock take NAME --qty Q --id ID; set aside until a command has ended: dlock stock run NAME -- CMD"},
    {"cancel return restore", "dlock stock refund NAME --id ID"},
    {"delete del rm remove destroy", "dlock stock drop NAME --yes"},
    {"init new", "dlock stock create NAME --quantity N --segments S"},
};

constexpr ForeignWords kOptions[] = {
    {"key name", "the KEY is a word of its own: dlock run KEY -- CMD"},
    {"url host redis", "name the store with -b URL, as in -b redis://HOST"},
    {"password pass", "put it into a file and name that in the URL, ?password-file=/PATH, or into $DLOCK_PASSWORD"},
    {"user", "the user is part of the URL: -b redis://USER@HOST"},
    {"tls ssl", "TLS is requested in the URL: -b rediss://HOST, or -b 'mysql://HOST/DB?ca-file=/PATH'"},
    {"cacert ca cafile ca-file", "name the certificate authority in the URL: -b 'rediss://HOST?ca-file=/PATH'"},
    {"lease expire expiry", "how long a lease lasts: --ttl D"},
    {"lock-timeout", "how long to wait for the lock: --wait D"},
    {"retries", "how many attempts: --tries N; for how long: --wait D"},
    {"items amount count", "how many: --qty N; how many a new stock has: --quantity N"},
    {"no-wait nowait nonblocking try", "try once: -n"},
    {"semaphore max limit", "at most N holders: --permits N"},
    {"renew-interval", "a lease is renewed every third of its ttl: --ttl D"},
    {"ids-from", "any number of requests, one a line: dlock stock batch"},
    {"colour", "when to use colour: --color auto|always|never"},
    {"format output", "JSON instead of text, where a command prints something: --json"},
};

std::string_view next_for(std::span<const ForeignWords> rows, std::string_view word) {
  for (const ForeignWords& row : rows) {
    bool found = false;
    for_each_word(row.words, [&](std::string_view one) { found = found || one == word; });
    if (found) return row.next;
  }
  return {};
}

}  // namespace

const CommandRow& command_row(Command command) {
  return *std::ranges::find(command_rows(), command, &CommandRow::command);
}

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : command_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string_view nearest_command(std::string_view word) {
  Nearest nearest(word);
  for (const CommandRow& row : command_rows()) {
    if (row.group.empty()) continue;
    nearest.offer(row.name);
  }
  return nearest.best();
}

std::string command_list(CommandSet commands) {
  if (std::popcount(commands) > 6) return {};
  std::string text;
  std::string_view last;
  for (const CommandRow& row : command_rows()) {
    if ((bit(row.command) & commands) == 0 || row.group.empty()) continue;
    if (!last.empty()) text.append(text.empty() ? "" : ", ").append(last);
    last = row.name;
  }
  if (!text.empty()) text += " and ";
  return text.append(last);
}

std::string_view foreign_command(std::string_view word) { return next_for(kCommands, word); }

std::string_view foreign_stock_action(std::string_view word) { return next_for(kStockActions, word); }

std::optional<Error> foreign_option(std::string_view name) {
  if (name == "F" || name == "no-fork") {
    return usage_error("-F (--no-fork) is not possible: dlock renews and releases the lock",
                       "leave it out; signals and the exit status are passed on");
  }
  if (name == "u" || name == "unlock") {
    return usage_error("-u (--unlock) is not possible: a lock ends with the dlock that took it",
                       "release what 'dlock acquire' took with: dlock release KEY --owner OWNER");
  }
  const std::string_view next = next_for(kOptions, name);
  if (next.empty()) return std::nullopt;
  return usage_error("unknown option " + in_quotes((name.size() == 1 ? "-" : "--") + std::string(name)),
                     std::string(next));
}

bool is_descriptor(std::string_view word) {
  return !word.empty() && word.size() <= 3 && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace dlock
