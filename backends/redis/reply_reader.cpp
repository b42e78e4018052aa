// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/reply_reader.h"

#include <hiredis/read.h>

#include <cstdlib>
#include <new>

#include "lib/base/human_text.h"

namespace dlock::redis {
namespace {

/// Where the value of `task` goes: a new root, or the next element of the array around it. An array's elements are
/// added one by one, as they come: what a server announces costs nothing until it has sent it.
Reply* place(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
}

Reply::Kind text_kind(int type) {
  if (type == REDIS_REPLY_ERROR) return Reply::Kind::kError;
  return type == REDIS_REPLY_STATUS ? Reply::Kind::kStatus : Reply::Kind::kString;
}

void* create_string(const redisReadTask* task, char* bytes, std::size_t size) {
  Reply* reply = place(task);
  reply->kind = text_kind(task->type);
  reply->text.assign(bytes, size);
  return reply;
}

void* create_array(const redisReadTask* task, int /*elements*/) {
  Reply* reply = place(task);
  reply->kind = Reply::Kind::kArray;
  return reply;
}

void* create_integer(const redisReadTask* task, long long value) {
  Reply* reply = place(task);
  reply->kind = Reply::Kind::kInteger;
  reply->integer = value;
  return reply;
}

void* create_nil(const redisReadTask* task) { return place(task); }

void free_root(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions kFunctions = {create_string, create_array, create_integer, create_nil, free_root};

Error not_redis(std::string why, bool tls) {
  return {ErrorCode::kUnavailable, "that is not a Redis server (" + std::move(why) + ")",
          tls ? "it speaks TLS: use rediss:// instead of redis://" : "check the port"};
}

}  // namespace

void append_encoded(std::string& out, const Command& command) {
  const auto append_head = [&](char kind, std::size_t size) {
    out.append(1, kind).append(std::to_string(size)).append("\r\n");
  };
  append_head('*', command.size());
  for (const std::string& word : command) {
    append_head('$', word.size());
    out.append(word).append("\r\n");
  }
}

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&kFunctions)) {
  if (!reader_) throw std::bad_alloc();
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
    return not_redis(printable(reader_->errstr), looks_like_tls_);
  }
  if (root == nullptr) {
    if (fed_ > kLongestReply) return not_redis("an endless reply", false);
    return std::optional<Reply>();
  }
  std::unique_ptr<Reply> reply(static_cast<Reply*>(root));
  any_reply_ = true;
  fed_ = reader_->len - reader_->pos;
  return std::optional<Reply>(std::move(*reply));
}

}  // namespace dlock::redis
