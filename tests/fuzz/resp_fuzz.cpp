// SPDX-License-Identifier: Apache-2.0
// What a Redis server may send: read the same in whatever pieces it comes, bounded, and whoever asked something gets an
// answer or an error out of it, never a lock that was not granted.
#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/redirect.h"
#include "backends/redis/native/layout.h"
#include "backends/redis/quorum/questions.h"
#include "backends/redis/rows/rows.h"
#include "backends/redis/wire/reply.h"
#include "backends/redis/wire/server_info.h"
#include "lib/base/log.h"
#include "lib/rows/row_memory.h"
#include "lib/stock/row_stock.h"
#include "lib/stock/stock_rows.h"
#include "tests/fuzz/target.h"

using namespace dlock;
using namespace dlock::redis;

const std::string_view dlock::kPieces[] = {
    "+OK\r\n",
    "+PONG\r\n",
    "-ERR x\r\n",
    "-MOVED 866 h:1\r\n",
    "-ASK 866 :6379\r\n",
    "-NOPERM no\r\n",
    "-READONLY no\r\n",
    "-LOADING\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    ":7\r\n",
    ":-1\r\n",
    ":9223372036854775807\r\n",
    "$4\r\nfree\r\n",
    "$0\r\n\r\n",
    "*4\r\n$7\r\ngranted\r\n$1\r\n7\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n:0\r\n",
    "*6\r\n$4\r\nbusy\r\n:1500\r\n:1\r\n$2\r\n17\r\n:0\r\n:0\r\n",
    "*2\r\n$8\r\nconflict\r\n$12\r\ndlock:shared\r\n",
    "*3\r\n$7\r\nrenewed\r\n:1\r\n$1\r\n7\r\n",
    "*1\r\n$8\r\nreleased\r\n",
    "*9\r\n$4\r\n1000\r\n$6\r\nstring\r\n$1\r\no\r\n:5\r\n*2\r\n$1\r\no\r\n$9\r\n7 0 0 o "
    "x\r\n*0\r\n*1\r\n$1\r\nw\r\n*2\r\n$1\r\nw\r\n$"
    "9\r\n9 8 x 0 i\r\n:1\r\n",
    "*8\r\n:0\r\n:1700000000000000\r\n:2500\r\n$1\r\no\r\n:42\r\n$1\r\nr\r\n:7\r\n$11\r\n9 8 0 e who\r\n",
    "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:6379\r\n",
    "*2\r\n$1\r\nh\r\n$4\r\n6379\r\n",
    "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n",
    "*3\r\n$5\r\ntaken\r\n$7\r\n0:1,1:2\r\n$1\r\n-\r\n",
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n",
    "*1\r\n",
    "*8\r\n",
    "*9\r\n",
    "*18\r\n$4\r\nlook\r\n",
    "$20\r\nrole:slave\r\nloading:1\r\n",
    "\r\n",
    "$1000000000000\r\n",
    "*2000000000\r\n",
    "%1\r\n",
    ",1.5\r\n",
};
const std::size_t dlock::kPieceCount = std::size(kPieces);

namespace {

/// All replies of `bytes`, which come in pieces of that size; whether they ended in an error.
std::pair<std::vector<Reply>, bool> read_all(std::string_view bytes, std::size_t piece) {
  ReplyReader reader;
  std::vector<Reply> replies;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (true) {
      auto reply = reader.next();
      if (!reply) return {std::move(replies), true};
      if (!*reply) break;
      replies.push_back(std::move(**reply));
    }
  }
  return {std::move(replies), false};
}

bool same(const Reply& a, const Reply& b) {
  return a.kind == b.kind && a.text == b.text && a.integer == b.integer &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), same);
}

/// A server that answers every pipeline with the same reply.
class Parrot final : public Deployment {
 public:
  explicit Parrot(Reply reply) : reply_(std::move(reply)) {}
  Result<std::vector<Reply>> call(const std::string&, const std::vector<Command>& commands, TimePoint,
                                  Control*) override {
    return std::vector<Reply>(commands.size(), reply_);
  }
  Connection* current(const std::string&) override { return nullptr; }
  Result<std::vector<Connection*>> all_servers(TimePoint) override { return std::vector<Connection*>(); }

 private:
  Reply reply_;
};

template <typename T>
void judge(const Result<T>& answer) {
  promise(answer || !answer.error().message.empty(), "an error says what");
  promise(answer || answer.error().message.size() < 1000, "an error is short");
}

void ask_for_a_lock(const Reply& reply, const LockName& name) {
  static SystemClock clock;
  Parrot parrot(reply);
  NativeLayout store(parrot, name, *native_names(name), "redis://h", {}, clock);
  const NativeAsk ask{.owner = Owner::random(), .ttl = std::chrono::seconds(1), .arrival = {}, .info = {}};
  const auto granted = store.acquire(ask, clock.now(), nullptr);
  judge(granted);
  if (granted && std::holds_alternative<AttemptGranted>(*granted)) {
    const bool said = reply.elements.size() == 4 && reply.elements[0].text == "granted";
    promise(said && !std::get<AttemptGranted>(*granted).free_only, "a lock is granted only by the word");
  }
  const auto state = store.read_state(clock.now(), nullptr);
  judge(state);
  judge(store.renew(ask.owner, ask.ttl, true, {}, clock.now(), nullptr));
  judge(store.release(ask.owner, nullptr, clock.now()));
}

std::unique_ptr<Rows> rows_of(const Reply& reply, const RowSpace& space, const Runtime& runtime) {
  return make_rows(std::make_unique<Parrot>(reply), "redis://h", space, {}, runtime);
}

void ask_for_memory(const Reply& reply, const LockName& name) {
  static SystemClock clock;
  static const Log log(Log::Style{.quiet = true});
  judge(row_memory(rows_of(reply, kKeySpace, {clock, log}), clock)->fence(name, FencingToken(7), clock.now()));
}

void ask_for_stock(const Reply& reply, const LockName& name) {
  static SystemClock clock;
  static const Log log(Log::Style{.quiet = true});
  const Runtime runtime{clock, log};
  const auto stock = row_stock(rows_of(reply, kStockSpace, runtime), clock);
  const CallLimit limit{clock.now(), nullptr};
  judge(stock->show(name, limit));
  judge(stock->refund({name, name}, limit));
  judge(stock->take({name, name, 1}, 0, limit));
}

void ask_everything(const Reply& reply) {
  const Endpoint asked{"h", 6379, ""};
  const auto name = *LockName::parse("k");
  promise(words_of(reply).size() <= 256, "a server's words are cut");
  static_cast<void>(refusal_of(reply));
  static_cast<void>(parse_redirect(reply, asked));
  judge(parse_cluster_slots(reply, asked));
  judge(parse_master_address(reply, asked));
  judge(check_master(reply, reply, asked));
  static_cast<void>(parse_ballot(reply));
  static_cast<void>(ServerInfo(reply.text).number("maxmemory"));
  ask_for_a_lock(reply, name);
  ask_for_memory(reply, name);
  ask_for_stock(reply, name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  const auto [whole, broken] = read_all(bytes, bytes.size());
  const auto [dripped, also_broken] = read_all(bytes, 1);
  promise(broken == also_broken, "broken in pieces is broken as a whole");
  promise(std::equal(whole.begin(), whole.end(), dripped.begin(), dripped.end(), same), "pieces do not matter");
  for (const Reply& reply : whole) ask_everything(reply);
  return 0;
}
