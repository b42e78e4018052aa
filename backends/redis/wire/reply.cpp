// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/reply.h"

#include <hiredis/read.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>

#include "lib/base/human_text.h"

namespace dlock::redis {
namespace {

std::size_t depth_of(const redisReadTask* task) {
  std::size_t depth = 0;
  for (; task != nullptr; task = task->parent) ++depth;
  return depth;
}

/// The first byte of a kind that only RESP3 has, 0 for one of RESP2. dlock asks for RESP2; hiredis since 1.0 takes
/// both. A nil of RESP2 comes as a string or an array.
char foreign_kind(int type) {
  constexpr std::string_view kKinds("\0\0\0\0_\0\0,#%~|>(=", 15);
  return type < 0 || static_cast<std::size_t>(type) >= kKinds.size() ? '?' : kKinds[static_cast<std::size_t>(type)];
}

/// Where the value of `task` goes: a new root, or the next element of the array around it. An array's elements are
/// added one by one, as they come: what a server announces costs nothing until it has sent it. nullptr, which the
/// reader takes for a lack of memory: not RESP2, too many, too deep, or no memory (no exception may pass through its
/// C).
Reply* place(const redisReadTask* task) try {
  auto& progress = *static_cast<ReplyReader::Progress*>(task->privdata);
  progress.foreign_kind = foreign_kind(task->type);
  if (progress.foreign_kind != 0 || ++progress.elements > ReplyReader::kMostElements) return nullptr;
  if (depth_of(task) > ReplyReader::kDeepestReply) return nullptr;
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Reply::Kind text_kind(int type) {
  if (type == REDIS_REPLY_ERROR) return Reply::Kind::kError;
  return type == REDIS_REPLY_STATUS ? Reply::Kind::kStatus : Reply::Kind::kString;
}

void* create_string(const redisReadTask* task, char* bytes, std::size_t size) try {
  Reply* reply = place(task);
  if (reply == nullptr) return nullptr;
  std::unique_ptr<Reply> root(task->parent == nullptr ? reply : nullptr);
  reply->kind = text_kind(task->type);
  reply->text.assign(bytes, size);
  static_cast<void>(root.release());
  return reply;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void* create_array(const redisReadTask* task) {
  Reply* reply = place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = Reply::Kind::kArray;
  return reply;
}

void* create_integer(const redisReadTask* task, long long value) {
  Reply* reply = place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = Reply::Kind::kInteger;
  reply->integer = value;
  return reply;
}

void* create_nil(const redisReadTask* task) { return place(task); }

void free_root(void* reply) { delete static_cast<Reply*>(reply); }

/// Callbacks of hiredis, old (0.14) or new (1.x): the latter counts elements as size_t and also reads numbers and
/// truths of RESP3, which a wrong server may send.
template <class Functions>
constexpr Functions reply_functions() {
  Functions calls{};
  calls.createString = create_string;
  calls.createArray = [](const redisReadTask* task, auto /*elements*/) { return create_array(task); };
  calls.createInteger = create_integer;
  calls.createNil = create_nil;
  calls.freeObject = free_root;
  if constexpr (requires { calls.createDouble; }) {
    calls.createDouble = [](const redisReadTask* task, double /*value*/, char* /*bytes*/, std::size_t /*size*/) {
      return create_nil(task);
    };
    calls.createBool = [](const redisReadTask* task, int /*value*/) { return create_nil(task); };
  }
  return calls;
}

constinit redisReplyObjectFunctions kFunctions = reply_functions<redisReplyObjectFunctions>();

Error not_redis(std::string why, bool tls) {
  return {ErrorCode::kUnavailable, "that is not a Redis server (" + std::move(why) + ")",
          tls ? "it speaks TLS: use rediss:// instead of redis://" : "check the port"};
}

/// The kind of excess does not matter.
Error too_much() {
  return {ErrorCode::kUnavailable, "its reply is larger than any that dlock asks for (1 MiB, 65536 elements)",
          "is this the right server? See: dlock doctor"};
}

/// "*9\r\n": how many, or how long.
constexpr std::size_t kLongestHead = 24;

char* put_head(char* to, char kind, std::size_t size) {
  *to++ = kind;
  to = std::to_chars(to, to + kLongestHead - 3, size).ptr;
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

}  // namespace

bool is_pushed(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.empty()) return false;
  const std::string& word = reply.elements[0].text;
  return word == "message" || word == "pmessage" || word == "smessage";
}

bool is_subscription(const Command& command) {
  constexpr std::string_view kEnding = "SUBSCRIBE";
  if (command.empty() || command[0].size() < kEnding.size()) return false;
  const std::string_view tail = std::string_view(command[0]).substr(command[0].size() - kEnding.size());
  return std::equal(tail.begin(), tail.end(), kEnding.begin(), [](char a, char b) { return (a & ~0x20) == b; });
}

std::size_t answers_to(const Command& command) {
  return is_subscription(command) && command.size() > 2 ? command.size() - 1 : 1;
}

std::string words_of(const Reply& reply) {
  std::string text = printable(reply.text, kForeignWords);
  while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
  return text;
}

bool is_for_later(const Reply& reply) {
  const ErrorWord* row = error_word(reply);
  return row != nullptr && row->cure == Cure::kLater;
}

std::span<const ErrorWord> error_words() {
  static constexpr ErrorWord kWords[] = {
      {"NOAUTH", Cure::kNone, ErrorCode::kDenied},
      {"WRONGPASS", Cure::kNone, ErrorCode::kDenied},
      {"NOPERM", Cure::kNone, ErrorCode::kDenied},
      {"DENIED", Cure::kNone, ErrorCode::kDenied},
      {"MOVED", Cure::kNone, ErrorCode::kMisconfigured},
      {"ASK", Cure::kNone, ErrorCode::kMisconfigured},
      {"CROSSSLOT", Cure::kNone, ErrorCode::kMisconfigured},
      {"WRONGTYPE", Cure::kNone, ErrorCode::kMisconfigured},
      {"OOM", Cure::kOther, ErrorCode::kUnavailable},
      {"MISCONF", Cure::kOther, ErrorCode::kUnavailable},
      {"NOREPLICAS", Cure::kOther, ErrorCode::kUnavailable},
      {"READONLY", Cure::kOther, ErrorCode::kUnavailable},
      {"LOADING", Cure::kLater, ErrorCode::kUnavailable},
      {"BUSY", Cure::kLater, ErrorCode::kUnavailable},
      {"TRYAGAIN", Cure::kLater, ErrorCode::kUnavailable},
      {"MASTERDOWN", Cure::kLater, ErrorCode::kUnavailable},
      {"CLUSTERDOWN", Cure::kLater, ErrorCode::kUnavailable},
  };
  return kWords;
}

const ErrorWord* error_word(const Reply& reply) {
  if (!reply.is_error()) return nullptr;
  for (const ErrorWord& row : error_words()) {
    if (reply.is_error(row.word)) return &row;
  }
  return nullptr;
}

bool is_denied(const Reply& reply) {
  if (!reply.is_error()) return false;
  if (reply.is_error("NOPERM") || reply.is_error("NOAUTH") || reply.is_error("WRONGPASS")) return true;
  const auto says = [&](const char* words) { return reply.text.find(words) != std::string::npos; };
  return says("The user executing the script can't ") || says("ACL failure in script: ");  // up to Redis 7.0, and since
}

void append_encoded(std::string& out, const Command& command) {
  const std::size_t before = out.size();
  std::size_t most = kLongestHead;
  for (const std::string& word : command) most += kLongestHead + word.size() + 2;
  out.resize(before + most);
  char* to = put_head(out.data() + before, '*', command.size());
  for (const std::string& word : command) {
    to = put_head(to, '$', word.size());
    to = std::copy(word.begin(), word.end(), to);
    *to++ = '\r';
    *to++ = '\n';
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&kFunctions)) {
  if (!reader_) throw std::bad_alloc();
  reader_->privdata = &progress_;
}

ReplyReader::~ReplyReader() = default;

void ReplyReader::feed(std::string_view bytes) {
  // A TLS alert: type 21, version 3.x.
  if (!any_reply_ && fed_ == 0) looks_like_tls_ = bytes.starts_with("\x15\x03");
  fed_ += bytes.size();
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());  // an error shows in next()
}

Result<std::optional<Reply>> ReplyReader::next() {
  void* root = nullptr;
  if (redisReaderGetReply(reader_.get(), &root) != REDIS_OK) {
    if (progress_.foreign_kind != 0) {  // in the words of the older hiredis, which knows none of these
      return not_redis(std::string("Protocol error, got \"") + progress_.foreign_kind + "\" as reply type byte", false);
    }
    const bool depth = std::string_view(reader_->errstr).find("depth") != std::string_view::npos;
    if (depth || reader_->err == REDIS_ERR_OOM) return too_much();
    return not_redis(printable(reader_->errstr), looks_like_tls_);
  }
  if (root == nullptr) {
    if (fed_ > kLongestReply) return too_much();
    return std::optional<Reply>();
  }
  progress_ = {};
  std::unique_ptr<Reply> reply(static_cast<Reply*>(root));
  any_reply_ = true;
  fed_ = reader_->len - reader_->pos;
  return std::optional<Reply>(std::move(*reply));
}

}  // namespace dlock::redis
