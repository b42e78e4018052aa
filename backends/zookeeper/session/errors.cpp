// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/errors.h"

namespace dlock::zookeeper {

bool is_disconnected(Code code) {
  return code == Code::kConnectionLoss || code == Code::kOperationTimeout || code == Code::kSessionMoved ||
         code == Code::kClosing;
}

bool is_nonsense(Code code) { return code == Code::kInconsistent || code == Code::kNonsense; }

namespace {

std::string words_of(Code code) {
  if (code == Code::kEphemeralAbove) return "the node above it is a lock of recipe=simple, or another ephemeral one";
  if (code == Code::kReadOnly) return "the server is read-only, cut off from the others";
  if (code == Code::kQuotaExceeded) return "a quota of that directory, or of one above it, is used up";
  if (code == Code::kThrottled) return "the server is overloaded";
  return "ZooKeeper's error " + std::to_string(static_cast<int>(code));
}

}  // namespace

std::optional<Error> error_of(Code code, const std::string& store, const std::string& right) {
  if (is_nonsense(code)) {
    return Error{ErrorCode::kUnavailable, store + " sent an answer that dlock does not understand",
                 "is this the right server? See: dlock doctor"};
  }
  if (code == Code::kAuthFailed) {
    return Error{ErrorCode::kDenied, store + " refused the user of the URL", "check user and password"};
  }
  if (code == Code::kLoginDemanded) {
    return Error{ErrorCode::kDenied, store + ": the servers demand a login: zk://USER@HOST",
                 "name the user in the URL, and give the password in a file; see man dlock-zookeeper"};
  }
  if (code == Code::kInvalidState || code == Code::kSessionExpired) {
    return Error{ErrorCode::kLost, "the session on " + store + " has expired"};
  }
  if (code == Code::kNoAuth || code == Code::kInvalidAcl) {
    return Error{ErrorCode::kDenied, store + " refused: the right " + right + " is missing",
                 "give the URL a user and a password that may: zk://USER:PASSWORD@...; see man dlock-zookeeper"};
  }
  return std::nullopt;
}

Error ends_every_session(const std::string& store) {
  return {.code = ErrorCode::kUnavailable,
          .message = store + " ends every session as soon as it is made: expired",
          .next = "look at it with: dlock doctor",
          .outage = Outage::kRefused};
}

Error unexpected(Code code, const std::string& store, const std::string& what) {
  const bool passes = code == Code::kReadOnly || code == Code::kThrottled;
  const bool refused = (static_cast<int>(code) <= -100 && !passes) || code == Code::kUnimplemented;
  return unexpected(refused ? ErrorCode::kUnsupported : ErrorCode::kUnavailable, code, store, what);
}

Error unexpected(ErrorCode meaning, Code code, const std::string& store, const std::string& what) {
  return {meaning, store + " " + what + ": " + words_of(code), "look at it with: dlock doctor"};
}

}  // namespace dlock::zookeeper
