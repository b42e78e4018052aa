// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/redirect.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/redis/deployment/names.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

std::string reason(const SentinelVote& vote, const std::string& master) {
  if (!vote.answer) return vote.answer.error().message;
  const std::optional<Endpoint>& named = *vote.answer;
  return vote.sentinel.text() + (named ? " names " + named->text() : " knows no master '" + master + "'");
}

bool is_permanent(const SentinelVote& vote) {
  if (vote.answer) return !vote.answer->has_value();
  return vote.answer.error().code != ErrorCode::kUnavailable;
}

Error summary(ErrorCode code, std::string message, std::string next) {
  return {code, std::move(message), std::move(next)};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = whole_number<std::uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

/// No name of a host is longer, and none has blanks or characters that a terminal obeys.
bool may_be_host(std::string_view text) {
  return text.size() <= 253 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

bool is_word(std::string_view a, std::string_view upper) {
  return std::equal(a.begin(), a.end(), upper.begin(), upper.end(),
                    [](char x, char y) { return (x >= 'a' && x <= 'z' ? static_cast<char>(x - 'a' + 'A') : x) == y; });
}

bool leaves_nothing(const Command& command) {
  constexpr std::array<std::string_view, 8> kHarmless = {"WAIT", "WAITAOF", "MULTI",  "PING",
                                                         "TIME", "ROLE",    "CLIENT", "SCRIPT"};
  return !command.empty() && std::any_of(kHarmless.begin(), kHarmless.end(),
                                         [&](std::string_view word) { return is_word(command.front(), word); });
}

bool was_not_done(const Command& command, const Reply& reply) {
  if (refusal_of(reply) != Refusal::kNone || reply.is_error("NOSCRIPT") || reply.is_error("EXECABORT")) return true;
  if (reply.kind == Reply::Kind::kStatus && reply.text == "QUEUED") return true;
  return leaves_nothing(command);
}

/// Meaning of an error reply that has nothing to do with the question.
Error refused_question(const Reply& reply, const Endpoint& asked, std::string_view question) {
  if (!reply.is_error()) {
    return {ErrorCode::kUnavailable, asked.text() + " gave no sensible answer to " + std::string(question), ""};
  }
  return {is_denied(reply) ? ErrorCode::kDenied : ErrorCode::kUnavailable,
          asked.text() + " refused " + std::string(question) + ": " + words_of(reply),
          reply.is_error("NOAUTH")   ? "give the password (password-file, sentinel-password-file)"
          : reply.is_error("NOPERM") ? "grant the user of dlock that command (ACL SETUSER)"
                                     : ""};
}

/// [host, port, id, [name, value, ...]]
std::optional<Endpoint> parse_node(const Reply& node, const Endpoint& asked) {
  if (node.elements.size() < 2 || node.elements[1].kind != Reply::Kind::kInteger) return std::nullopt;
  const std::int64_t port = node.elements[1].integer;
  if (port < 1 || port > 65535) return std::nullopt;
  std::string host = node.elements[0].text;
  if (host == "?") {  // it shall be called by its name and has none
    host = node.elements.size() > 3 ? flat_value(node.elements[3], "ip") : std::string_view();
    if (host.empty()) return std::nullopt;
  }
  if (!may_be_host(host)) return std::nullopt;
  return Endpoint{host.empty() ? asked.host : std::move(host), static_cast<std::uint16_t>(port), ""};
}

std::optional<SlotRange> parse_range(const Reply& range, const Endpoint& asked) {
  if (range.elements.size() < 3) return std::nullopt;
  const std::int64_t first = range.elements[0].integer;
  const std::int64_t last = range.elements[1].integer;
  if (first < 0 || last < first || last >= kSlots) return std::nullopt;
  auto master = parse_node(range.elements[2], asked);
  if (!master) return std::nullopt;
  return SlotRange{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last), std::move(*master)};
}

}  // namespace

std::optional<Endpoint> elected(const std::vector<SentinelVote>& votes, std::size_t configured) {
  std::map<Endpoint, std::size_t> named;
  for (const SentinelVote& vote : votes) {
    if (!vote.answer || !vote.answer->has_value()) continue;
    if (++named[**vote.answer] > configured / 2) return **vote.answer;
  }
  return std::nullopt;
}

Error not_elected(const std::vector<SentinelVote>& votes, std::size_t configured, const std::string& master) {
  std::string reasons;
  std::size_t permanent = 0;
  const SentinelVote* telling = nullptr;  // the vote whose advice is passed on
  for (const SentinelVote& vote : votes) {
    reasons += (reasons.empty() ? "" : "; ") + reason(vote, master);
    if (!is_permanent(vote)) continue;
    ++permanent;
    if (telling == nullptr || (telling->answer && !vote.answer)) telling = &vote;
  }
  const std::size_t majority = configured / 2 + 1;
  const bool hopeless = configured - std::min(configured, permanent) < majority;
  std::string message = configured == 1 ? "the sentinel names no master '" + master + "'"
                                        : "no majority of the " + std::to_string(configured) +
                                              " sentinels names a master '" + master + "'";
  message += ": " + reasons;
  if (!hopeless) {
    return summary(ErrorCode::kUnavailable, std::move(message),
                   "look whether the sentinels run, and whether they agree");
  }
  if (telling != nullptr && !telling->answer) {
    return summary(telling->answer.error().code, std::move(message), telling->answer.error().next);
  }
  return summary(
      ErrorCode::kMisconfigured, std::move(message),
      "the name after the hosts is that of 'sentinel monitor NAME ...'; redis-cli -p 26379 sentinel masters");
}

const Endpoint* SlotMap::owner(std::uint16_t slot) const {
  if (const auto moved = moved_.find(slot); moved != moved_.end()) return &moved->second;
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), slot,
                       [](std::uint16_t wanted, const SlotRange& range) { return wanted < range.first; });
  if (behind == ranges_.begin()) return nullptr;
  const SlotRange& range = *std::prev(behind);
  return slot <= range.last ? &range.master : nullptr;
}

std::vector<Endpoint> SlotMap::masters() const {
  std::vector<Endpoint> all;
  const auto add = [&](const Endpoint& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  };
  for (const SlotRange& range : ranges_) add(range.master);
  for (const auto& [slot, master] : moved_) add(master);
  return all;
}

void SlotMap::assign(std::vector<SlotRange> ranges) {
  ranges_ = std::move(ranges);
  moved_.clear();
}

void SlotMap::move(std::uint16_t slot, Endpoint to) { moved_.insert_or_assign(slot, std::move(to)); }

bool is_refused_for(const Reply& reply, const std::string& word) {
  // The second is how servers before 7.0 say it of a script.
  return reply.is_error(word) || (reply.is_error("ERR") && reply.text.find(": -" + word + " ") != std::string::npos);
}

bool is_read_only(const Reply& reply) { return is_refused_for(reply, "READONLY"); }

bool is_unknown_command(const Reply& reply) {
  const auto says = [&](const char* words) { return reply.text.find(words) != std::string::npos; };
  return reply.is_error("ERR") && (says("unknown command") || says("Unknown Redis command"));
}

Refusal refusal_of(const Reply& reply) {
  if (!reply.is_error()) return Refusal::kNone;
  if (reply.is_error("MOVED")) return Refusal::kMoved;
  if (reply.is_error("ASK")) return Refusal::kAsk;
  for (const std::string_view word : {"TRYAGAIN", "BUSY"}) {
    if (reply.is_error(word)) return Refusal::kLater;
  }
  for (const std::string_view word : {"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN"}) {
    if (reply.is_error(word)) return Refusal::kElsewhere;
  }
  return is_read_only(reply) ? Refusal::kElsewhere : Refusal::kNone;
}

PipelineOutcome judge(const std::vector<Command>& commands, const std::vector<Reply>& replies) {
  PipelineOutcome outcome;
  bool done = false;
  for (std::size_t i = 0; i < replies.size() && i < commands.size(); ++i) {
    const Refusal refusal = refusal_of(replies[i]);
    if (refusal != Refusal::kNone && outcome.refusal == Refusal::kNone) {
      outcome.refusal = refusal;
      outcome.at = i;
    }
    done = done || !was_not_done(commands[i], replies[i]);
  }
  if (outcome.refusal != Refusal::kNone)
    outcome.kind = done ? PipelineOutcome::Kind::kPartly : PipelineOutcome::Kind::kRefused;
  return outcome;
}

std::optional<Redirect> parse_redirect(const Reply& reply, const Endpoint& asked) {
  if (!reply.is_error("MOVED") && !reply.is_error("ASK")) return std::nullopt;
  std::string_view text = reply.text;
  cut(text, ' ');
  const auto slot = whole_number<std::uint16_t>(cut(text, ' '));
  const std::string_view address = cut(text, ' ');
  const std::size_t colon = address.rfind(':');
  if (!slot || *slot >= kSlots || colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(address.substr(colon + 1));
  const std::string_view host = address.substr(0, colon);
  if (!port || host == "?" || !may_be_host(host)) return std::nullopt;
  return Redirect{*slot, {host.empty() ? asked.host : std::string(host), *port, ""}};
}

std::pair<std::vector<Command>, std::vector<bool>> with_asking(const std::vector<Command>& commands) {
  std::vector<Command> asking;
  std::vector<bool> ours;
  bool queueing = false;
  for (const Command& command : commands) {
    if (!queueing) {
      asking.push_back({"ASKING"});
      ours.push_back(false);
    }
    asking.push_back(command);
    ours.push_back(true);
    if (command.empty()) continue;
    if (is_word(command.front(), "MULTI")) queueing = true;
    if (is_word(command.front(), "EXEC") || is_word(command.front(), "DISCARD")) queueing = false;
  }
  return {std::move(asking), std::move(ours)};
}

Result<std::vector<SlotRange>> parse_cluster_slots(const Reply& reply, const Endpoint& asked) {
  const bool disabled = reply.is_error("ERR") && reply.text.find("cluster support disabled") != std::string::npos;
  if (disabled || is_unknown_command(reply)) {
    return Error{ErrorCode::kMisconfigured, asked.text() + " is not a node of a cluster: " + words_of(reply),
                 "for one server write redis:// (rediss:// with TLS) instead of redis+cluster://"};
  }
  if (reply.kind != Reply::Kind::kArray) return refused_question(reply, asked, "CLUSTER SLOTS");
  std::vector<SlotRange> ranges;
  for (const Reply& element : reply.elements) {
    if (auto range = parse_range(element, asked)) ranges.push_back(std::move(*range));
  }
  if (ranges.empty()) {
    return Error{ErrorCode::kUnavailable, asked.text() + " knows of no node that has slots",
                 "redis-cli --cluster check " + asked.text()};
  }
  std::sort(ranges.begin(), ranges.end(), [](const SlotRange& a, const SlotRange& b) { return a.first < b.first; });
  return ranges;
}

Result<std::optional<Endpoint>> parse_master_address(const Reply& reply, const Endpoint& asked) {
  if (reply.is_nil()) return std::optional<Endpoint>();
  if (is_unknown_command(reply)) {
    return Error{ErrorCode::kMisconfigured, asked.text() + " is not a sentinel but a Redis server",
                 "name the sentinels (port 26379 by default), or write redis:// for one server"};
  }
  if (reply.kind == Reply::Kind::kArray && reply.elements.size() == 2) {
    const auto port = parse_port(reply.elements[1].text);
    const std::string& host = reply.elements[0].text;
    if (port && !host.empty() && may_be_host(host)) return std::optional<Endpoint>(Endpoint{host, *port, ""});
  }
  return refused_question(reply, asked, "SENTINEL GET-MASTER-ADDR-BY-NAME");
}

Result<void> check_master(const Reply& role, const Reply& ping, const Endpoint& asked) {
  if (role.kind != Reply::Kind::kArray || role.elements.empty()) return refused_question(role, asked, "ROLE");
  if (role.elements[0].text != "master") {
    return Error{ErrorCode::kUnavailable,
                 asked.text() + " is not a master yet (ROLE says " + words_of(role.elements[0]) + ")", ""};
  }
  if (refusal_of(ping) != Refusal::kNone) {
    return Error{ErrorCode::kUnavailable, asked.text() + " cannot serve yet: " + words_of(ping), ""};
  }
  return {};
}

}  // namespace dlock::redis
