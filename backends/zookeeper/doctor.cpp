// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/admin.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "backends/zookeeper/lock/store.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/net/findings.h"

namespace dlock::zookeeper {
namespace {

/// False: not by `until`.
bool wait_for(int fd, short events, TimePoint until, Clock& clock) {
  while (clock.now() < until) {
    std::vector<pollfd> fds{{fd, events, 0}};
    clock.wait(fds, until);
    if (fds.front().revents != 0) return true;
  }
  return false;
}

Error failed(const std::string& address, const std::string& why) {
  return {ErrorCode::kUnavailable, "cannot reach " + address + ": " + why,
          "check that the server runs, and the network"};
}

Result<UniqueFd> connect_to(const std::string& address, TimePoint until, Clock& clock) {
  const std::size_t colon = address.rfind(':');
  const auto port = leading_number<std::uint16_t>(std::string_view(address).substr(colon + 1));
  const auto known = known_addresses(address.substr(0, colon), port);
  if (known.empty()) return failed(address, "not an address");
  UniqueFd fd(socket(known.front().get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_error("cannot make a socket", errno);
  if (connect(fd.get(), known.front().get(), known.front().size) == 0) return fd;
  if (errno != EINPROGRESS) return failed(address, errno_text(errno));
  if (!wait_for(fd.get(), POLLOUT, until, clock)) return failed(address, "no answer");
  int errnum = 0;
  socklen_t size = sizeof errnum;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &errnum, &size);
  if (errnum != 0) return failed(address, errno_text(errnum));
  return fd;
}

using namespace std::chrono_literals;

constexpr Duration kServerBudget = 2s;
constexpr Duration kForEver = 24h;  ///< asked for, to see what is granted
constexpr Duration kUsualTtl = 30s;

std::string value(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

Finding version(const std::string& address, const std::string& text) {
  const std::string number = text.substr(0, text.find_first_of("-,"));
  std::string_view rest = number;
  const int major = leading_number<int>(cut(rest, '.'));
  const int minor = leading_number<int>(rest);
  if (major > 3 || (major == 3 && minor >= 6)) return Finding::ok(address + ": version " + number);
  if (major == 3 && minor == 5) {
    return Finding::warn(address + ": version " + number + " lets the numbers of a directory wrap",
                         "use ZooKeeper 3.6 or later");
  }
  return Finding::warn(address + ": version " + number + " has no containers: empty lock directories stay",
                       "use ZooKeeper 3.6 or later, or run dlock gc now and then");
}

Finding mode(const std::string& address, const std::string& text) {
  if (text == "read-only") {
    return Finding::fail(address + ": is cut off from the others and takes no locks (read-only mode)",
                         "find out why it does not reach the majority", ErrorCode::kUnavailable);
  }
  if (text == "standalone") {
    return Finding::ok(address + ": a single server; its locks are as safe as that machine");
  }
  return Finding::ok(address + ": " + text);
}

Finding expiry(const std::string& address, const std::map<std::string, std::string>& conf) {
  const long tick = leading_number<long>(value(conf, "tickTime"));
  const long sync = leading_number<long>(value(conf, "syncLimit"));
  std::string text = address + ": sessions of " + value(conf, "minSessionTimeout") + " to " +
                     value(conf, "maxSessionTimeout") + " ms, tick " + std::to_string(tick) + " ms";
  if (sync > 0) {
    text += ", a follower that is cut off goes on answering for " + std::to_string(tick * sync) +
            " ms (dlock asks the leader; Curator and kazoo do not)";
  }
  // A leader that is cut off renews for as long; the session of a ttl is half as long again. See Limits in README.md.
  const Duration least = 2 * std::chrono::milliseconds(tick * sync);
  if (least <= kUsualTtl) return Finding::ok(text);
  return Finding::warn(text, "lower syncLimit, or take a --ttl of " + human_duration(least) +
                                 " at least: a leader that is cut off renews for as long as a follower answers");
}

Finding connections(const std::string& address, const std::string& most) {
  return Finding::ok(address + ": up to " + most +
                     " connections from one address (maxClientCnxns); each holder and waiter needs one");
}

std::vector<Finding> examine(const std::string& address, const Runtime& runtime) {
  Clock& clock = runtime.clock;
  const Duration budget = std::min(kServerBudget, runtime.patience);
  const TimePoint before = clock.now();
  const auto srvr = ask_server(address, "srvr", before + budget, clock);
  if (!srvr) {
    return {Finding::warn(srvr.error().message, srvr.error().next)};  // the others may do
  }
  std::vector<Finding> findings{answers_finding(address, clock.now() - before)};
  const auto conf = ask_server(address, "conf", clock.now() + budget, clock);
  const auto more = judge_server(address, parse_answer(*srvr), parse_answer(conf ? *conf : ""));
  findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

/// A node that means nothing, made and removed.
Finding rights(Calls& calls, const std::string& root, TimePoint until) {
  const QueueDirectory queue{root, Rule::kOneNode, {}, 0, base_of(own_directory("", "doctor-" + random_hex(8)))};
  ContenderStore contender(calls, queue, kDirectoryData);
  const auto made = contender.enter(until, nullptr);
  if (!made) return Finding::fail(made.error());
  if (const auto removed = contender.remove(until); !removed) return Finding::fail(removed.error());
  return Finding::ok(calls.store() + ": nodes can be made and removed below " + (root.empty() ? "/" : root));
}

}  // namespace

Result<std::string> ask_server(const std::string& address, std::string_view word, TimePoint until, Clock& clock) {
  TRY_ASSIGN(const auto fd, connect_to(address, until, clock));
  if (send(fd.get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return failed(address, errno_text(errno));
  std::string text;
  char buffer[4096];
  while (wait_for(fd.get(), POLLIN, until, clock)) {
    const ssize_t size = recv(fd.get(), buffer, sizeof buffer, 0);
    if (size == 0) return text;
    if (size < 0 && errno != EAGAIN && errno != EINTR) return failed(address, errno_text(errno));
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
  }
  return failed(address, "no answer");
}

std::map<std::string, std::string> parse_answer(std::string_view text) {
  std::map<std::string, std::string> fields;
  while (!text.empty()) {
    const std::string_view line = cut(text, '\n');
    const std::size_t at = line.find_first_of(":=");
    if (at == std::string_view::npos) continue;
    std::string_view value = line.substr(at + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    fields.emplace(line.substr(0, at), value);
  }
  return fields;
}

std::vector<Finding> judge_server(const std::string& address, const std::map<std::string, std::string>& srvr,
                                  const std::map<std::string, std::string>& conf) {
  if (value(srvr, "Mode").empty()) {
    return {Finding::warn(address + ": does not say what it is, or does not serve yet (srvr)",
                          "check that it has found a majority; allow srvr by 4lw.commands.whitelist=srvr,conf")};
  }
  std::vector<Finding> findings{version(address, value(srvr, "Zookeeper version")), mode(address, value(srvr, "Mode"))};
  if (!value(conf, "tickTime").empty()) findings.push_back(expiry(address, conf));
  const std::string most = value(conf, "maxClientCnxns");
  if (leading_number<long>(most) > 0) findings.push_back(connections(address, most));
  return findings;
}

Finding judge_sessions(const std::string& store, Duration longest) {
  const Duration ttl = lease_within(longest, kForEver, Duration(0));
  const std::string text = store + ": sessions last " + human_duration(longest) +
                           " at the longest, so a ttl counts up to " + human_duration(ttl);
  if (ttl >= kUsualTtl / 4 * 3) return Finding::ok(text);
  return Finding::warn(text, "raise maxSessionTimeout on the servers for longer ones");
}

std::vector<Finding> diagnose_ensemble(Ensemble& ensemble, const Runtime& runtime) {
  const TimePoint until = runtime.clock.now() + runtime.patience;
  const auto addresses = ensemble.addresses(until, nullptr);
  if (!addresses) return {Finding::fail(addresses.error())};
  std::vector<Finding> findings;
  for (const std::string& address : *addresses) {
    const auto some = examine(address, runtime);
    findings.insert(findings.end(), some.begin(), some.end());
  }
  const TimePoint session_until = runtime.clock.now() + runtime.patience;
  auto calls = ensemble.connect(kForEver, session_until, nullptr);
  const bool only_one_is_silent = addresses->size() == 1 && findings.front().verdict == Finding::Verdict::kWarn;
  if (!calls) {
    if (only_one_is_silent) findings.clear();  // the session's error says so as well
    findings.push_back(Finding::fail(calls.error()));
    return findings;
  }
  const auto synced = (*calls)->call_until(ask_sync("/"), session_until, nullptr);
  if (!synced) {
    if (only_one_is_silent && synced.error().code == ErrorCode::kUnavailable) findings.clear();
    findings.push_back(Finding::fail(synced.error()));
    return findings;
  }
  findings.push_back(judge_sessions(ensemble.store(), (*calls)->timeout()));
  findings.push_back(rights(**calls, ensemble.root(), session_until));
  return findings;
}

}  // namespace dlock::zookeeper
