// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/options.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "cmd/options/arguments.h"
#include "cmd/options/backend_choice.h"
#include "cmd/options/command_table.h"
#include "cmd/options/completion.h"
#include "cmd/options/lock_options.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/settings.h"
#include "cmd/options/stock_actions.h"
#include "lib/base/human_text.h"
#include "lib/lock/held_claims.h"

namespace dlock {
namespace {

bool needs_no_backend(const Arguments& arguments) {
  if (arguments.command == Command::kComplete) return complete_words(arguments.words).live == Completion::Live::kNone;
  return (command_row(arguments.command).traits & kNeedsNoSettings) != 0;
}

/// For the commands that go on: turns the mistakes, and those of the files, into warnings (for doctor: findings).
void tell_of_mistakes(Options& options) {
  std::vector<Error>& mistakes = options.mistakes;
  mistakes.insert(mistakes.begin(), options.config.mistakes().begin(), options.config.mistakes().end());
  if (options.command == Command::kDoctor) return;
  for (const Error& mistake : mistakes) {
    options.warnings.push_back(mistake.message + " (left out)" + (mistake.next.empty() ? "" : "; ") + mistake.next);
  }
}

/// Merges the settings into Options step by step. What is wrong goes on one list, options.mistakes.
class Composer {
 public:
  Composer(const Arguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {
    options_.command = arguments.command;
  }

  Result<Options> compose() {
    if (needs_no_backend(arguments_)) return without_settings();
    TRY_ASSIGN(options_.config, merge_settings(arguments_, environment_));
    options_.warnings = odd_variables(environment_);
    if (options_.command != Command::kDoctor) warn_of_files_left_out();
    if (finds_all_mistakes(arguments_)) return find_mistakes();
    TRY(read_action());
    TRY(choose_key_settings(options_.config, lock_keys(arguments_), arguments_.command));
    read_store();
    read_fallbacks(!options_.backends.front().is_local());
    read_settings();
    TRY(judge());
    TRY(read_operands());
    TRY(settle_slots(reader(), options_));
    TRY(follow_lease());
    TRY(judge());
    tell_of_mistakes(options_);
    return std::move(options_);
  }

 private:
  OptionReader reader() const { return reader_of(arguments_.command); }

  OptionReader reader_of(Command command) const {
    const bool named = !options_.backends.empty() && !options_.backends.front().alias.empty();
    return {options_.config, command, named ? "backend." + options_.backends.front().alias : std::string(),
            key_section_};
  }

  /// The first mistake is the end. For who looks or frees only one of a flag or a variable is, or one that hides which
  /// store is meant.
  Result<void> judge() const {
    const bool goes_on = goes_on_with_mistakes(arguments_) && !is_unknown(options_.backends.front());
    for (const Error& mistake : options_.mistakes) {
      if (!goes_on || mistake.code != ErrorCode::kMisconfigured) return mistake;
    }
    return {};
  }

  void note(const Result<void>& done) {
    if (!done) options_.mistakes.push_back(done.error());
  }

  /// For `config check`: nothing is the end, and every section is read as if a run meant it.
  Result<Options> find_mistakes() {
    options_.mistakes = options_.config.mistakes();
    const auto& faults = options_.config.faults();
    options_.mistakes.insert(options_.mistakes.end(), faults.begin(), faults.end());
    look_at({}, std::string(kChosenForKeys));
    for (const std::string& name : options_.config.backend_names()) look_at(name, std::string(kChosenForKeys));
    for (const std::string& section : options_.config.key_sections()) look_at({}, section);
    options_.backends.emplace_back().scheme = "local";
    read_settings();
    options_.mistakes = each_once(options_.mistakes);
    TRY(read_operands());
    return std::move(options_);
  }

  static std::vector<Error> each_once(const std::vector<Error>& errors) {
    std::vector<Error> out;
    for (const Error& error : errors) {
      const auto same = [&](const Error& other) { return other.message == error.message; };
      if (std::none_of(out.begin(), out.end(), same)) out.push_back(error);
    }
    return out;
  }

  /// Adds what a run would refuse whose backend is `backend` (empty: the usual one) and whose KEY has the section
  /// `key`, and the stores that it could use.
  void look_at(const std::string& backend, const std::string& key) {
    Arguments as_run = arguments_;
    as_run.command = Command::kRun;
    Composer run(as_run, environment_);
    run.options_.config = options_.config;
    run.key_section_ = key;
    if (backend.empty()) run.read_store();
    else run.read_named_store(backend);
    run.read_fallbacks(true);
    run.read_settings();
    std::erase_if(run.options_.backends, is_unknown);
    std::ranges::move(run.options_.mistakes, std::back_inserter(options_.mistakes));
    std::ranges::move(run.options_.backends, std::back_inserter(options_.configured));
  }

  /// Whether it is in use or not.
  void read_named_store(const std::string& name) {
    auto url = choose_backend(options_.config, name, options_.mistakes);
    if (!url) note(Error{ErrorCode::kMisconfigured, url.error().message, url.error().next});
    else note(add_password(*url, {}, {}, false, options_.warnings));
    options_.backends.push_back(url ? std::move(*url) : unknown_backend(name));
  }

  /// help, version and completion work whatever the configuration says.
  Result<Options> without_settings() {
    options_.backends.emplace_back().scheme = "local";
    options_.json = arguments_.find(OptionId::kJson) != nullptr;
    TRY(read_operands());
    return std::move(options_);
  }

  void read_store() {
    auto url = choose_store();
    if (!url) options_.mistakes.push_back(url.error());
    options_.backends.push_back(url ? std::move(*url) : unknown_backend({}));
  }

  Result<BackendUrl> choose_store() {
    const Setting* chosen = reader().find(OptionId::kBackend);
    if (chosen != nullptr && chosen->value().empty() && chosen->origin.layer == Origin::Layer::kEnvironment) {
      return Error{ErrorCode::kMisconfigured, "DLOCK_BACKEND is set but empty: where are the locks?",
                   "for the locks of this machine set it to local:, or unset it"};
    }
    auto url = choose_backend(options_.config, chosen == nullptr ? "local:" : chosen->value(), options_.mistakes);
    if (!url) return chosen == nullptr ? url.error() : OptionReader::at(*chosen, url.error());
    const bool typed = chosen != nullptr && chosen->origin.layer != Origin::Layer::kFile;
    if (typed && chosen->origin.layer == Origin::Layer::kFlag) warn_of_password(*url);
    name_store(*url);  // as it was typed: a password from elsewhere is found there again
    TRY(add_password(*url, environment_, environment_.get("DLOCK_PASSWORD"), typed, options_.warnings));
    return url;
  }

  void name_store(const BackendUrl& url) {
    const Setting* file = reader().find(OptionId::kConfig);
    if (file != nullptr && file->origin.layer == Origin::Layer::kFlag) {
      options_.same_config = " -C " + shell_word(file->value());
    }
    options_.store_typed = reader().find_typed(OptionId::kBackend) != nullptr;
    options_.same_store = (options_.store_typed ? backend_option(url) : std::string()) + options_.same_config;
  }

  void read_fallbacks(bool wanted) {
    const Setting* fallbacks = wanted ? reader().find(OptionId::kFallback) : nullptr;
    if (fallbacks == nullptr || !has_option(arguments_.command, option_row(OptionId::kFallback))) return;
    for (const std::string& text : fallbacks->values) note(read_fallback(*fallbacks, text));
  }

  Result<void> read_fallback(const Setting& fallbacks, const std::string& text) {
    auto url = choose_backend(options_.config, text, options_.mistakes);
    if (!url) return OptionReader::at(fallbacks, url.error());
    if (fallbacks.origin.layer == Origin::Layer::kFlag) warn_of_password(*url);
    TRY(add_password(*url, environment_, {}, true, options_.warnings));
    options_.backends.push_back(std::move(*url));
    return {};
  }

  /// A lease that `acquire` took from a fallback is where DLOCK_HELD says; the backend before it knows nothing of it.
  /// Without its word it may be on each of them.
  Result<void> follow_lease() {
    const Command command = options_.command;
    const bool of_lease = command == Command::kRenew || command == Command::kRelease || command == Command::kCheck;
    BackendUrl& asked = options_.backends.front();
    if (!of_lease || options_.store_typed || asked.is_local()) return {};
    for (const HeldEntry& entry : parse_held(environment_.get("DLOCK_HELD"))) {
      const bool meant = options_.owner ? entry.claim.owner.text() == options_.owner->text()
                                        : options_.token && entry.claim.token.value() == options_.token->value();
      if (!meant || entry.key != options_.keys.front().text() || entry.store == asked.redacted()) continue;
      return ask_instead(entry.store);
    }
    return add_places();
  }

  Result<void> add_places() {
    const Setting* backend = reader().find(OptionId::kBackend);
    const Setting* fallbacks = reader_of(Command::kAcquire).find(OptionId::kFallback);
    if (backend == nullptr || fallbacks == nullptr) return {};
    options_.places = {backend->value()};
    for (const std::string& text : fallbacks->values) {
      options_.places.push_back(text);
      note(read_fallback(*fallbacks, text));
    }
    return {};
  }

  /// `store`: without its password, which stands with the fallback.
  Result<void> ask_instead(const std::string& store) {
    const Setting* fallbacks = reader_of(Command::kAcquire).find(OptionId::kFallback);
    std::vector<std::string> known = fallbacks == nullptr ? std::vector<std::string>() : fallbacks->values;
    known.push_back(store);
    for (const std::string& text : known) {
      std::vector<Error> of_others;
      auto url = choose_backend(options_.config, text, of_others);
      if (!url || url->redacted() != store) continue;
      TRY(add_password(*url, environment_, {}, true, options_.warnings));
      options_.same_store = backend_option(*url) + options_.same_config;
      options_.backends.front() = std::move(*url);
      break;
    }
    return {};
  }

  void read_settings() {
    const OptionReader from = reader();
    from.read(options_);
    settle_lock_options(from, arguments_, options_);
    settle_local(from);
    settle_style();
    // Who reads JSON reads the errors as JSON.
    if (options_.json && !from.find_typed(OptionId::kLogFormat)) options_.log.format = Log::Format::kJson;
    options_.ttl_given = from.find(OptionId::kTtl) != nullptr;
    if (options_.since && options_.until && *options_.since >= *options_.until)
      note(usage_error("--since is not before --until", "swap them"));
  }

  void settle_local(const OptionReader& from) {
    if (!options_.backends.front().is_local()) return;
    if (from.find_typed(OptionId::kFallback)) note(useless_for_local("--fallback"));
    if (options_.run_if_unavailable && from.find_typed(OptionId::kIfUnavailable))
      note(useless_for_local("--if-unavailable=run"));
    options_.run_if_unavailable = false;
  }

  /// What the environment asks for holds for every stream that is left to `auto`.
  void settle_style() {
    if (options_.colour == When::kAuto && environment_.force_colour) options_.colour = When::kAlways;
    if (options_.colour == When::kAuto && (environment_.no_colour || environment_.term == "dumb")) {
      options_.colour = When::kNever;
    }
    options_.log.colour =
        options_.colour == When::kAlways || (options_.colour == When::kAuto && isatty(STDERR_FILENO) == 1);
  }

  void warn_of_files_left_out() {
    for (const Error& note : options_.config.notes()) options_.warnings.push_back(note.message + "; " + note.next);
  }

  static Error useless_for_local(const std::string& option) {
    return {ErrorCode::kUnsupported, option + " means nothing for the local backend, which is always there",
            "leave it out, or choose a backend on the network with --backend URL"};
  }

  void warn_of_password(const BackendUrl& url) {
    if (url.password.empty() || !url.alias.empty()) return;
    options_.warnings.push_back("everyone on this machine can see the password in " + url.redacted() +
                                " with ps; put it into a file: ?password-file=/path, or into $DLOCK_PASSWORD");
  }

  /// First: which options there are, depends on it.
  Result<void> read_action() {
    return arguments_.command == Command::kStock ? read_stock_action(arguments_, options_) : Result<void>();
  }

  Result<void> read_operands() {
    if (options_.stock) return place_stock_operands(arguments_, reader(), options_);
    return place_operands(arguments_, options_);
  }

  const Arguments& arguments_;
  const Environment& environment_;
  std::string key_section_{kChosenForKeys};
  Options options_;
};

}  // namespace

bool asks_for_json_log(int argc, char** argv) {
  bool json = false;
  std::optional<bool> log;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (word == "--") break;
    if (word == "--json") json = true;
    else if (word == "--log-format" && i + 1 < argc) log = std::string_view(argv[i + 1]) == "json";
    else if (word.starts_with("--log-format=")) log = word == "--log-format=json";
  }
  return log.value_or(json);
}

bool asks_for_shell(int argc, char** argv) {
  bool shell = false;
  bool acquires = false;
  bool names_command = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (word == "--") break;
    shell = shell || word == "--shell";
    acquires = acquires || word == "acquire";
    names_command = names_command || find_command(word) != nullptr;
  }
  return shell && (acquires || !names_command);
}

Result<Options> parse_command_line(int argc, char** argv, char** environment) {
  TRY_ASSIGN(auto arguments, split_arguments(argc, argv));
  const Environment surroundings = read_environment(environment);
  return Composer(arguments, surroundings).compose();
}

}  // namespace dlock
