// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlock::zookeeper {

/// Answer of a server, or of the client library for it: the protocol's numbers. Those that are not named here are kept
/// as they are.
enum class Code : int {
  kOk = 0,
  kInconsistent = -2,    ///< the answer belongs to another request
  kConnectionLoss = -4,  ///< the outcome is unknown
  kNonsense = -5,        ///< the answer cannot be decoded
  kUnimplemented = -6,
  kOperationTimeout = -7,  ///< the outcome is unknown
  kInvalidState = -9,      ///< the session is over
  kNoNode = -101,
  kNoAuth = -102,
  kBadVersion = -103,
  kEphemeralAbove = -108,  ///< nothing can be made below an ephemeral node
  kNodeExists = -110,
  kNotEmpty = -111,
  kSessionExpired = -112,
  kInvalidAcl = -114,
  kAuthFailed = -115,
  kClosing = -116,
  kSessionMoved = -118,  ///< the outcome is unknown
  kReadOnly = -119,
  kLoginDemanded = -124,
  kQuotaExceeded = -125,
  kThrottled = -127,  ///< nothing was done
};

enum class NodeKind { kPersistent, kEphemeral, kEphemeralSequential, kContainer };

/// A server's data about a node. Times are the server's, in ms since 1970.
struct NodeStat {
  std::int64_t czxid = 0;  ///< the transaction that created it: grows through the life of the ensemble
  std::int64_t ctime = 0;
  std::int64_t mzxid = 0;  ///< the transaction that changed its data last
  std::int64_t mtime = 0;
  std::int64_t ephemeral_owner = 0;  ///< the session that it ends with; 0: none
  std::int32_t version = 0;          ///< of its data
  std::int32_t cversion = 0;         ///< how often children came and went
  std::int32_t children = 0;
};

/// One change of a transaction.
struct Change {
  enum class Kind { kCreate, kDelete, kSet, kCheck };
  Kind kind = Kind::kCreate;
  std::string path;
  std::string data = {};
  NodeKind node = NodeKind::kPersistent;  ///< of a create
  int version = -1;                       ///< -1: any
};

struct Request {
  enum class Kind {
    kChange,  ///< all of `changes`, or none
    kCreate,  ///< changes.front() alone: the only way to make a container, and to learn its stat at once
    kList,    ///< the children of `path`
    kRead,    ///< its data
    kExists,  ///< its stat; wants no right
    kSync,    ///< through the leader, which knows whether the session lives
  };
  Kind kind = Kind::kSync;
  std::string path = {};
  bool watch = false;  ///< kList: announce the next change of the children; kRead, kExists: of the node
  std::vector<Change> changes = {};
};

inline Change create_node(std::string path, std::string data, NodeKind kind = NodeKind::kPersistent) {
  return {Change::Kind::kCreate, std::move(path), std::move(data), kind};
}
inline Change set_node(std::string path, std::string data, int version = -1) {
  return {Change::Kind::kSet, std::move(path), std::move(data), {}, version};
}
inline Change delete_node(std::string path, int version = -1) {
  return {Change::Kind::kDelete, std::move(path), {}, {}, version};
}
inline Change check_node(std::string path, int version) {
  return {Change::Kind::kCheck, std::move(path), {}, {}, version};
}

inline Request ask_change(std::vector<Change> changes) {
  return {.kind = Request::Kind::kChange, .changes = std::move(changes)};
}
inline Request ask_creation(Change change) { return {.kind = Request::Kind::kCreate, .changes = {std::move(change)}}; }
inline Request ask_of(Request::Kind kind, std::string path, bool watch = false) {
  return {kind, path.empty() ? "/" : std::move(path), watch};
}
inline Request ask_list(std::string path, bool watch = false) {
  return ask_of(Request::Kind::kList, std::move(path), watch);
}
inline Request ask_data(std::string path, bool watch = false) {
  return ask_of(Request::Kind::kRead, std::move(path), watch);
}
inline Request ask_stat(std::string path, bool watch = false) {
  return ask_of(Request::Kind::kExists, std::move(path), watch);
}
inline Request ask_sync(std::string path) { return ask_of(Request::Kind::kSync, std::move(path)); }

struct Answer {
  Code code = Code::kOk;
  struct Changed {
    Code code = Code::kOk;
    std::string path;  ///< of a create: with the number that it got
    NodeStat stat;     ///< of kCreate; the protocol has none for the creates of a transaction
  };
  std::vector<Changed> changed = {};
  std::vector<std::string> children = {};
  std::string data = {};
  NodeStat stat = {};
};

}  // namespace dlock::zookeeper
