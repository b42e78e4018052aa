// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/errors.h"

#include "backends/redis/deployment/redirect.h"
#include "backends/redis/wire/server_info.h"

namespace dlock::redis {
namespace {

Error not_now(std::string message, std::string next) {
  return {.code = ErrorCode::kUnavailable,
          .message = std::move(message),
          .next = std::move(next),
          .undone = true,
          .outage = Outage::kRefused};
}

Error read_only(const std::string& store, const std::string& words) {
  return not_now(store + " is a read-only replica: " + words,
                 "name its primary, or let the sentinels name it: redis+sentinel://");
}

/// MOVED and ASK are followed at redis+cluster:// alone.
bool is_redirect(const Reply& reply) { return reply.is_error("MOVED") || reply.is_error("ASK"); }

/// Of a store or a server, as it is called in messages.
std::string scheme_of(const std::string& store) {
  const std::size_t end = store.find("://");
  return end == std::string::npos ? "redis" : store.substr(0, end);
}

/// Of an error that has no words of its own here.
ErrorCode code_of(const Reply& reply) {
  const ErrorWord* row = error_word(reply);
  return row != nullptr ? row->code : ErrorCode::kUnavailable;
}

/// An error ends with " script: HASH, on @user_script:LINE.": a place in our script, which says nothing to users.
std::string without_place(const std::string& text) {
  const std::size_t place = text.find(", on @user_script");
  return place == std::string::npos ? text : text.substr(0, text.rfind(" script: ", place));
}

/// Nor is a script that stands among the words of a command that the server does not know.
std::string without_arguments(const std::string& text) { return text.substr(0, text.find(", with args beginning")); }

constexpr const char* kFull = " is out of memory (maxmemory) and takes nothing new";

/// The server lives, and takes nothing at the moment.
std::optional<Error> takes_no_changes(const Reply& reply, const std::string& store, const std::string& said) {
  if (is_refused_for(reply, "OOM")) {
    return not_now(store + kFull,
                   "raise maxmemory, or free some memory; what is held can still be renewed and released");
  }
  if (is_refused_for(reply, "MISCONF")) {
    return not_now(store + " cannot save its data and takes no changes: " + said,
                   "look at its disk and its log; to accept changes anyway: stop-writes-on-bgsave-error no");
  }
  if (is_refused_for(reply, "NOREPLICAS")) {
    return not_now(store + " has too few replicas and takes no changes: " + said,
                   "bring the replicas back, or lower min-replicas-to-write");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> error_of(const Reply& reply, const std::string& store) {
  if (!reply.is_error()) return std::nullopt;
  const std::string said = words_of({reply.kind, without_place(reply.text), 0, {}});
  const std::string what = store + " refused: " + said;
  if (auto error = takes_no_changes(reply, store, said)) return error;
  if (is_read_only(reply)) return read_only(store, said);
  if (is_redirect(reply)) return node_of_cluster(store, scheme_of(store), said);
  if (is_denied(reply)) {
    return Error{ErrorCode::kDenied, what, "what dlock needs: man dlock-redis, and dlock doctor"};
  }
  if (is_unknown_command(reply)) {
    return Error{ErrorCode::kUnsupported, store + " lacks a command that dlock needs: " + without_arguments(said),
                 "restore its name there (rename-command), or use another server; see man dlock-redis"};
  }
  if (reply.is_error("WRONGTYPE") || reply.text.find("user_script:") != std::string::npos) {
    return Error{ErrorCode::kMisconfigured,
                 "a key of dlock's own on " + store + " holds what dlock did not write: " + said,
                 "find it with: redis-cli --scan --pattern 'dlock:*', and see who writes there"};
  }
  return Error{.code = code_of(reply),
               .message = what,
               .next = "look at it with: dlock doctor",
               .undone = error_word(reply) != nullptr,
               .outage = Outage::kRefused};
}

Error of_request_to_holder(Error error, const LockName& name) {
  if (error.message.find(kFull) == std::string::npos) return error;
  error.next = "raise maxmemory, or free some memory; what works without it: dlock force-release " + name.typed();
  return error;
}

Error not_understood(const std::string& store) {
  return {ErrorCode::kUnavailable, store + " answered what dlock does not understand",
          "is another program using names that begin with 'dlock:' there? See: dlock doctor"};
}

Error reply_error(const Reply& reply) {
  const std::string words = words_of({reply.kind, without_place(reply.text), 0, {}});
  const std::string said = "it answered \"" + words + "\"";
  if (auto error = takes_no_changes(reply, "it", words)) return *error;
  if (is_denied(reply)) return {ErrorCode::kDenied, said, "see `ACL GETUSER` there"};
  if (is_redirect(reply)) return node_of_cluster("it", "redlock", words);
  if (is_read_only(reply)) {
    return {ErrorCode::kUnavailable, "it is a read-only replica: " + words, "name its primary"};
  }
  if (reply.is_error() && reply.text.find("Unknown Redis command") != std::string::npos) {
    return {ErrorCode::kUnsupported, "it is not a Tair: " + said, "use redis:// for it"};
  }
  return {code_of(reply), reply.is_error() ? said : "it answered something else than was asked", ""};
}

}  // namespace dlock::redis
