// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/stock_actions.h"

#include <algorithm>

#include "cmd/options/command_table.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr StockActionRow kActionRows[] = {
    {StockAction::kCreate, "create", "NAME --quantity N [--segments S]", "N items, spread evenly over S segments",
     OptionId::kQuantity, "how many items are there?"},
    {StockAction::kShow, "show", "[NAME]", "what is left, what is set aside; --watch, --requests"},
    {StockAction::kTake, "take", "NAME [--qty Q] [--id ID]", "deduct Q; print SEGMENT QTY of each part"},
    {StockAction::kBatch,
     "batch",
     "NAME",
     "requests from stdin, one per line; answers on stdout",
     OptionId::kNone,
     {},
     {OptionId::kWait, "how long a request that has no answer is sent again", "10s"}},
    {StockAction::kRun, "run", "NAME [--qty Q] [--id ID] -- CMD [ARG...]",
     "sold if CMD ends with 0; given back after any other end"},
    {StockAction::kRefund, "refund", "NAME --id ID [--qty Q] [--refund-id ID]",
     "give back what ID took, once; with --refund-id in parts", OptionId::kId, "which request is given back?"},
    {StockAction::kAdd, "add", "NAME --qty Q [--id ID]", "restock, the emptiest segments first", OptionId::kQty,
     "how many items are added?"},
    {StockAction::kRebalance, "rebalance", "NAME", "level the segments"},
    {StockAction::kResize, "resize", "NAME --segments S", "level over another number of segments", OptionId::kSegments,
     "over how many segments?"},
    {StockAction::kDrop, "drop", "NAME --yes", "remove the stock", OptionId::kYes,
     "the items and all requests would be forgotten"},
};

std::string usage_of(const StockActionRow& row) {
  return "usage: dlock stock " + std::string(row.name) + " " + std::string(row.operands);
}

std::string all_actions() {
  std::string names;
  for (const StockActionRow& row : kActionRows) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

class StockPlacer {
 public:
  StockPlacer(const Arguments& arguments, const OptionReader& from, Options& options)
      : arguments_(arguments),
        from_(from),
        options_(options),
        stock_(*options.stock),
        row_(action_row(stock_.action)) {}

  Result<void> place() {
    TRY(read_name());
    TRY(check_needs());
    stock_.qty = stock_.qty_given.value_or(1);
    if (stock_.action != StockAction::kRun) return {};
    leave_out_locks();
    stock_.typed_for_run = typed_for_run();
    stock_.claim = StockClaim{request_id(stock_), stock_.qty, stock_.lock_segment};
    return place_child();
  }

 private:
  Result<void> read_name() {
    const std::size_t names = arguments_.words.size() - 1;
    const std::string what = "'dlock stock " + std::string(row_.name) + "'";
    if (names > 1) {
      return usage_error(what + " takes one NAME, not also " + in_quotes(arguments_.words[2]), instead_of_word());
    }
    if (names == 0) {
      if (row_.action == StockAction::kShow && !stock_.requests) return {};
      return usage_error(what + " needs the NAME of the stock", usage_of(row_));
    }
    TRY_ASSIGN(auto name, LockName::parse(arguments_.words[1]));
    options_.keys.push_back(std::move(name));
    return {};
  }

  /// The line to type for a second word: a number, an id, or the command.
  std::string instead_of_word() const {
    const std::string_view word = arguments_.words[2];
    if (row_.action == StockAction::kRun && arguments_.child.empty())
      return "put -- before the command: dlock stock run NAME -- CMD";
    const bool number = word.find_first_not_of("0123456789") == std::string_view::npos;
    const auto name = LockName::parse(arguments_.words[1]);
    const auto line = [&](OptionId option) {
      return "write: dlock stock " + std::string(row_.name) + " --" + std::string(option_row(option).name) + " " +
             shell_word(word) + " " + (name ? name->typed() : shell_word(arguments_.words[1]));
    };
    if (row_.action == StockAction::kRefund) return line(OptionId::kId);
    for (const OptionId option : {OptionId::kQuantity, OptionId::kQty, OptionId::kSegments}) {
      if (number && has_option(row_.action, option_row(option))) return line(option);
    }
    return usage_of(row_);
  }

  Result<void> check_needs() {
    if (row_.needs == OptionId::kNone || from_.find(row_.needs)) return {};
    return usage_error("--" + std::string(option_row(row_.needs).name) + " is missing: " + std::string(row_.why),
                       usage_of(row_));
  }

  Result<void> place_child() {
    const auto& child = arguments_.child;
    if (options_.shell_command && !child.empty()) {
      return usage_error("both -c STR and a command: " + in_quotes(child.front()), usage_of(row_));
    }
    if (!options_.shell_command && child.empty()) {
      return usage_error("no command to run", "write: dlock stock run " + options_.keys.front().typed() +
                                                  " -- CMD [ARG...]; to deduct without one: dlock stock take");
    }
    if (child.empty()) return {};
    options_.child = child;
    options_.child.push_back(nullptr);
    return {};
  }

  /// What a file says about locks is not said about sales: whether it was sold has to be known.
  void leave_out_locks() {
    options_.run_if_unavailable = false;
    options_.lock_delay = Duration(0);
  }

  /// How CMD runs and is ended, as far as the environment and files do not say it.
  std::string typed_for_run() const {
    std::string typed;
    for (const OptionId id :
         {OptionId::kMode, OptionId::kTtl, OptionId::kMaxHold, OptionId::kKillAfter, OptionId::kOnLost}) {
      const Setting* one = from_.find_typed(id);
      if (one != nullptr) typed += " --" + std::string(option_row(id).name) + " " + shell_word(one->value());
    }
    return typed;
  }

  const Arguments& arguments_;
  const OptionReader& from_;
  Options& options_;
  StockOptions& stock_;
  const StockActionRow& row_;
};

}  // namespace

LockName request_id(const StockOptions& stock) {
  return stock.id ? *stock.id : *LockName::parse("dlock-" + random_hex(12));
}

Result<const StockActionRow*> find_stock_action(std::string_view word, const std::string& otherwise) {
  Nearest nearest(word);
  for (const StockActionRow& row : kActionRows) {
    if (row.name == word) return &row;
    nearest.offer(row.name);
  }
  if (const auto theirs = foreign_stock_action(word); !theirs.empty())
    return usage_error("'dlock stock' has no " + in_quotes(word), std::string(theirs));
  return usage_error("'dlock stock' has no " + in_quotes(word), did_you_mean(nearest.best(), otherwise));
}

std::span<const StockActionRow> stock_action_rows() { return kActionRows; }

const StockActionRow& action_row(StockAction action) {
  const auto is_it = [&](const StockActionRow& row) { return row.action == action; };
  return *std::find_if(std::begin(kActionRows), std::end(kActionRows), is_it);
}

std::string same_stock_call(const Options& options, const LockName* id) {
  const StockOptions& what = *options.stock;
  const LockName& name = options.keys.front();
  if (what.action == StockAction::kCreate) return "dlock stock show " + name.typed();
  std::string line = "dlock stock " + std::string(action_row(what.action).name);
  if (what.qty_given) line += " --qty " + std::to_string(what.qty);
  if (id) line += " --id " + shown_shell_word(id->text());
  if (what.before_take) line += " --before-take";
  if (what.refund_id) line += " --refund-id " + shown_shell_word(what.refund_id->text());
  if (what.action == StockAction::kResize) line += " --segments " + std::to_string(what.segments);
  if (what.action == StockAction::kDrop) line += " --yes";
  line += what.typed_for_run;
  if (options.shell_command) line += " -c " + shown_shell_word(*options.shell_command);
  line += " " + name.typed();
  if (options.child.empty()) return line;
  line += " --";
  for (std::size_t i = 0; i + 1 < options.child.size(); ++i) line += " " + shown_shell_word(options.child[i]);
  return line;
}

Result<void> read_stock_action(const Arguments& arguments, Options& options) {
  const std::string actions = "actions: " + all_actions();
  if (arguments.words.empty()) return usage_error("'dlock stock' needs an action", actions);
  TRY_ASSIGN(const StockActionRow* row, find_stock_action(arguments.words.front(), actions));
  options.stock.emplace().action = row->action;
  for (const GivenOption& given : arguments.options) {
    if (has_option(row->action, *given.row)) continue;
    return usage_error("'dlock stock " + std::string(row->name) + "' has no option " + given.spelled,
                       "see: dlock help stock " + std::string(row->name));
  }
  return {};
}

Result<void> place_stock_operands(const Arguments& arguments, const OptionReader& from, Options& options) {
  return StockPlacer(arguments, from, options).place();
}

}  // namespace dlock
