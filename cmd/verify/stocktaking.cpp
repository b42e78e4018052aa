// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/stocktaking.h"

#include <functional>

#include "cmd/show/exit_status.h"
#include "cmd/verify/schedule.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

std::string stock_name_of_verify() { return std::string(kVerifyPrefix) + "s"; }

std::optional<std::int64_t> json_number(std::string_view json, const std::string& name) {
  const std::string key = '"' + name + "\":";
  const std::size_t at = json.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return leading_number<std::int64_t>(json.substr(at + key.size()));
}

std::string books_text(const StockBooks& books) {
  return std::to_string(books.total) + " left, " + std::to_string(books.reserved) + " set aside, " +
         std::to_string(books.taken) + " taken, " + std::to_string(books.refunded) + " given back of " +
         std::to_string(kVerifyStock);
}

class Stocktaking {
 public:
  Stocktaking(const VerifyHistory& history, const Sandbox& sandbox, Duration ttl, Clock& clock)
      : history_(history), sandbox_(sandbox), ttl_(ttl), clock_(clock) {}

  Judgement run() {
    const auto sold_out = settled_books();
    if (!sold_out) {
      broken("cannot be read at the end");
      return std::move(judgement_);
    }
    check("after the last sale", *sold_out);
    std::int64_t told = 0;
    for (const Section& section : history_.sections()) {
      if (section.key != "s") continue;
      ++judgement_.tried;
      const bool sold = section.how.starts_with("exit 0");
      if (sold) told += quantity_of(section.name);
      const int status = refund(section.name);
      if (sold && status != 0) broken(section.name + " was sold, but the books do not know of it", {section.name});
    }
    if (told > kVerifyStock) broken(std::to_string(told) + " were sold of " + std::to_string(kVerifyStock));
    const auto end = books();
    if (!end) broken("cannot be read at the end");
    if (end && end->total != kVerifyStock) broken("all was given back, but it has " + books_text(*end));
    return std::move(judgement_);
  }

 private:
  void broken(const std::string& what, std::vector<std::string> who = {}) {
    judgement_.breaches.push_back(
        {"the stock: " + what, history_.excerpt(who, 1, who.empty() ? 0 : history_.lines()), std::move(who)});
  }

  void check(const std::string& when, const StockBooks& books) {
    const std::int64_t sum = books.total + books.reserved + books.taken - books.refunded;
    if (sum != kVerifyStock || books.total < 0) broken(when + ": " + books_text(books));
    if (books.reserved != 0 || books.open != 0) broken(when + " something is still set aside: " + books_text(books));
  }

  std::optional<StockBooks> books() const {
    const auto answer = sandbox_.ask_store({"stock", "show", "--json", stock_name_of_verify()});
    return answer && answer->status == 0 ? parse_books(answer->out) : std::nullopt;
  }

  /// Sales whose seller died are given back when their lease is over.
  std::optional<StockBooks> settled_books() {
    const TimePoint limit = clock_.now() + 3 * ttl_ + 10s;
    std::vector<pollfd> nothing;
    auto seen = books();
    while (clock_.now() < limit && (!seen || seen->reserved != 0 || seen->open != 0)) {
      clock_.wait(nothing, clock_.now() + 200ms);
      seen = books();
    }
    return seen;
  }

  int refund(const std::string& id) const {
    const auto answer = sandbox_.ask_store({"stock", "refund", "-q", "--id", id, stock_name_of_verify()});
    return answer ? answer->status : exit_status(answer.error().code);
  }

  const VerifyHistory& history_;
  const Sandbox& sandbox_;
  Duration ttl_;
  Clock& clock_;
  Judgement judgement_{.promise = "the stock is not oversold, and balances", .name = "stock", .unit = "orders"};
};

}  // namespace

Result<void> make_stock(const Sandbox& sandbox) {
  (void)sandbox.ask_store({"stock", "drop", "--yes", stock_name_of_verify()});
  const auto made = sandbox.ask_store({"stock", "create", "--log-format", "json", "--quantity",
                                       std::to_string(kVerifyStock), "--segments", "4", stock_name_of_verify()});
  if (!made) return made.error();
  if (made->status == 0) return {};
  return Error{ErrorCode::kUnsupported, last_message(made->said)};
}

std::int64_t quantity_of(std::string_view section) {
  return 1 + static_cast<std::int64_t>(std::hash<std::string_view>()(section) % 3);
}

std::vector<std::string> selling_words(const std::string& section, const std::string& url, Duration ttl) {
  std::vector<std::string> words{"stock", "run",   "--log-format", "json", "--connect-timeout",
                                 "2s",    "--ttl", ms_word(ttl)};
  words.insert(words.end(), {"--backend", url, "--id", section, "--qty", std::to_string(quantity_of(section))});
  words.push_back(stock_name_of_verify());
  return words;
}

std::optional<StockBooks> parse_books(std::string_view json) {
  const auto total = json_number(json, "total");
  const auto reserved = json_number(json, "reserved");
  const auto open = json_number(json, "open");
  const auto taken = json_number(json, "taken");
  const auto refunded = json_number(json, "refunded");
  if (!total || !reserved || !open || !taken || !refunded) return std::nullopt;
  return StockBooks{*total, *reserved, *open, *taken, *refunded};
}

Judgement take_stock(const VerifyHistory& history, const Sandbox& sandbox, Duration ttl, Clock& clock) {
  return Stocktaking(history, sandbox, ttl, clock).run();
}

}  // namespace dlock
