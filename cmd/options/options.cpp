// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/options.h"

#include <unistd.h>

#include <algorithm>

#include "cmd/options/arguments.h"
#include "cmd/options/backend_choice.h"
#include "cmd/options/command_table.h"
#include "cmd/options/completion.h"
#include "cmd/options/lock_options.h"
#include "cmd/options/option_reader.h"
#include "cmd/options/settings.h"
#include "cmd/options/stock_actions.h"
#include "lib/base/clock.h"
#include "lib/base/human_text.h"
#include "lib/history/moment.h"
#include "lib/lock/held_claims.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

bool needs_no_backend(const Arguments& arguments) {
  if (arguments.command == Command::kComplete) return complete_words(arguments.words).live == Completion::Live::kNone;
  return (command_row(arguments.command).traits & kNeedsNoSettings) != 0;
}

/// The mistake of a flag or of a variable, which no command goes on with; nullptr: there is none.
const Error* typed_mistake(const Options& options) {
  const auto typed = [](const Error& mistake) { return mistake.code != ErrorCode::kMisconfigured; };
  const auto found = std::find_if(options.mistakes.begin(), options.mistakes.end(), typed);
  return found == options.mistakes.end() ? nullptr : &*found;
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

/// Merges the settings into Options step by step. The first error ends it.
class Composer {
 public:
  Composer(const Arguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {}

  Result<Options> compose() {
    options_.command = arguments_.command;
    if (needs_no_backend(arguments_)) return without_settings();
    TRY_ASSIGN(auto config, merge_settings(arguments_, environment_));
    options_.config = std::move(config);
    options_.warnings = odd_variables(environment_);
    if (options_.command != Command::kDoctor) warn_of_files_left_out();
    if (finds_all_mistakes(arguments_)) return find_mistakes();
    if (goes_on_with_mistakes(arguments_)) mistakes_ = &options_.mistakes;
    if (auto chosen = choose_key_settings(options_.config, lock_keys(arguments_), arguments_.command); !chosen) {
      return chosen.error();
    }
    for (const Step step :
         {&Composer::read_backends, &Composer::read_style, &Composer::read_waiting, &Composer::read_mode,
          &Composer::read_lease, &Composer::read_running, &Composer::read_switches, &Composer::read_operands,
          &Composer::read_once, &Composer::follow_lease}) {
      const auto done = (this->*step)();
      if (const Error* typed = typed_mistake(options_)) return *typed;
      if (!done) return done.error();
    }
    tell_of_mistakes(options_);
    return std::move(options_);
  }

 private:
  using Step = Result<void> (Composer::*)();

  OptionReader reader() const { return reader_of(arguments_.command); }

  OptionReader reader_of(Command command) const {
    const bool named = !options_.backends.empty() && !options_.backends.front().alias.empty();
    return {options_.config, command, named ? "backend." + options_.backends.front().alias : std::string(),
            key_section_, mistakes_};
  }

  /// For `config check`: nothing is the end, and every section is read as if a run meant it.
  Result<Options> find_mistakes() {
    std::vector<Error> found = options_.config.mistakes();
    found.insert(found.end(), options_.config.faults().begin(), options_.config.faults().end());
    const auto look = [&](const std::string& backend, const std::string& key) {
      for (BackendUrl& url : look_at(backend, key, found)) options_.configured.push_back(std::move(url));
    };
    look({}, std::string(kChosenForKeys));
    for (const std::string& name : options_.config.backend_names()) look(name, std::string(kChosenForKeys));
    for (const std::string& section : options_.config.key_sections()) look({}, section);
    for (Error& error : found) {
      const auto same = [&](const Error& other) { return other.message == error.message; };
      if (std::none_of(options_.mistakes.begin(), options_.mistakes.end(), same)) options_.mistakes.push_back(error);
    }
    mistakes_ = &found;  // what is wrong with these is known by now
    options_.backends.emplace_back().scheme = "local";
    for (const Step step : {&Composer::read_style, &Composer::read_switches, &Composer::read_operands}) {
      TRY((this->*step)());
    }
    return std::move(options_);
  }

  /// Adds to `found` what a run would refuse whose backend is `backend` (empty: the usual one) and whose KEY has the
  /// section `key`. Returns the stores that it could use.
  std::vector<BackendUrl> look_at(const std::string& backend, const std::string& key, std::vector<Error>& found) const {
    Arguments as_run = arguments_;
    as_run.command = Command::kRun;
    Composer run(as_run, environment_);
    run.options_.config = options_.config;
    run.key_section_ = key;
    run.mistakes_ = &found;
    const auto note = [&](const Result<void>& done) {
      if (!done) found.push_back(done.error());
    };
    if (backend.empty()) note(run.read_backends());
    else note(run.read_named_backend(backend));
    if (run.options_.backends.empty()) {
      run.options_.backends.push_back(unknown_backend(backend));
      note(run.read_fallbacks());
    }
    for (const Step step : {&Composer::read_style, &Composer::read_waiting, &Composer::read_mode, &Composer::read_lease,
                            &Composer::read_running}) {
      note((run.*step)());
    }
    std::erase_if(run.options_.backends, is_unknown);
    return std::move(run.options_.backends);
  }

  /// Whether it is in use or not.
  Result<void> read_named_backend(const std::string& name) {
    auto url = choose_backend(options_.config, name);
    if (!url) {
      Error error = url.error();
      error.code = ErrorCode::kMisconfigured;
      return error;
    }
    if (auto added = add_password(*url, {}, {}, false, options_.warnings); !added) return added;
    options_.backends.push_back(std::move(*url));
    return read_fallbacks();
  }

  /// help, version and completion work whatever the configuration says.
  Result<Options> without_settings() {
    options_.backends.emplace_back().scheme = "local";
    options_.json = arguments_.find(OptionId::kJson) != nullptr;
    TRY(read_operands());
    return std::move(options_);
  }

  Result<void> read_backends() {
    const Setting* chosen = reader().find(OptionId::kBackend);
    if (chosen != nullptr && chosen->value().empty() && chosen->origin.layer == Origin::Layer::kEnvironment) {
      return Error{ErrorCode::kMisconfigured, "DLOCK_BACKEND is set but empty: where are the locks?",
                   "for the locks of this machine set it to local:, or unset it"};
    }
    auto url = choose_backend(options_.config, chosen == nullptr ? "local:" : chosen->value(), mistakes_);
    if (!url) return chosen == nullptr ? url.error() : OptionReader::at(*chosen, url.error());
    const bool typed = chosen != nullptr && chosen->origin.layer != Origin::Layer::kFile;
    if (typed && chosen->origin.layer == Origin::Layer::kFlag) warn_of_password(*url);
    name_store(*url);  // as it was typed: a password from elsewhere is found there again
    const std::string_view variable = environment_.get("DLOCK_PASSWORD");
    if (auto added = add_password(*url, environment_, variable, typed, options_.warnings); !added) return added;
    options_.backends.push_back(std::move(*url));
    return read_fallbacks();
  }

  void name_store(const BackendUrl& url) {
    const Setting* file = reader().find(OptionId::kConfig);
    if (file != nullptr && file->origin.layer == Origin::Layer::kFlag) {
      options_.same_config = " -C " + shell_word(file->value());
    }
    options_.store_typed = reader().given_by_flag(OptionId::kBackend);
    options_.same_store = (options_.store_typed ? backend_option(url) : std::string()) + options_.same_config;
  }

  Result<void> read_fallbacks() {
    const auto fallen = reader();
    const Setting* fallbacks = fallen.find(OptionId::kFallback);
    const bool local = options_.backends.front().is_local();
    if (fallbacks != nullptr && local && fallen.given_by_flag(OptionId::kFallback)) {
      return useless_for_local("--fallback");
    }
    const bool wanted = !local || mistakes_ != nullptr;
    if (fallbacks != nullptr && wanted && has_option(arguments_.command, option_row(OptionId::kFallback))) {
      for (const std::string& text : fallbacks->values) {
        if (auto read = read_fallback(*fallbacks, text); !read) return read;
      }
    }
    enum class IfUnavailable { kFail, kRun } choice = IfUnavailable::kFail;
    if (auto read = fallen.read_choice(OptionId::kIfUnavailable, choice); !read) return read;
    options_.run_if_unavailable = choice == IfUnavailable::kRun && !local;
    if (choice == IfUnavailable::kRun && local && fallen.given_by_flag(OptionId::kIfUnavailable)) {
      return useless_for_local("--if-unavailable=run");
    }
    return {};
  }

  Result<void> read_fallback(const Setting& fallbacks, const std::string& text) {
    auto url = choose_backend(options_.config, text);
    if (!url) return reader().refuse(OptionReader::at(fallbacks, url.error()));
    if (fallbacks.origin.layer == Origin::Layer::kFlag) warn_of_password(*url);
    if (auto added = add_password(*url, environment_, {}, true, options_.warnings); !added)
      return reader().refuse(added.error());
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
      if (auto read = read_fallback(*fallbacks, text); !read) return read;
    }
    return {};
  }

  /// `store`: without its password, which stands with the fallback.
  Result<void> ask_instead(const std::string& store) {
    const Setting* fallbacks = reader_of(Command::kAcquire).find(OptionId::kFallback);
    std::vector<std::string> known = fallbacks == nullptr ? std::vector<std::string>() : fallbacks->values;
    known.push_back(store);
    for (const std::string& text : known) {
      auto url = choose_backend(options_.config, text);
      if (!url || url->redacted() != store) continue;
      if (auto added = add_password(*url, environment_, {}, true, options_.warnings); !added) return added;
      options_.same_store = backend_option(*url) + options_.same_config;
      options_.backends.front() = std::move(*url);
      break;
    }
    return {};
  }

  Result<void> read_waiting() { return read_wait_options(reader(), options_); }
  Result<void> read_mode() { return read_mode_options(reader(), arguments_, options_); }
  Result<void> read_lease() { return read_lease_options(reader(), options_); }
  Result<void> read_running() { return read_run_options(reader(), arguments_, options_); }

  void warn_of_files_left_out() {
    for (const Error& note : options_.config.notes()) options_.warnings.push_back(note.message + "; " + note.next);
  }

  static Error useless_for_local(const std::string& option) {
    return {ErrorCode::kUnsupported, option + " means nothing for the local backend: this machine is always reachable",
            "leave it out, or choose a backend on the network with --backend URL"};
  }

  void warn_of_password(const BackendUrl& url) {
    if (url.password.empty() || !url.alias.empty()) return;
    options_.warnings.push_back("everyone on this machine can see the password in " + url.redacted() +
                                " with ps; put it into a file: ?password-file=/path, or into $DLOCK_PASSWORD");
  }

  Result<void> read_style() {
    const auto from = reader();
    if (auto read = from.read(OptionId::kQuiet, options_.log.quiet); !read) return read;
    if (auto read = from.read(OptionId::kVerbose, options_.log.verbose); !read) return read;
    if (auto read = from.read_choice(OptionId::kLogFormat, options_.log.format); !read) return read;
    if (auto read = from.read_choice(OptionId::kProgress, options_.progress); !read) return read;
    if (auto read = from.read_choice(OptionId::kColor, options_.colour); !read) return read;
    // What the environment asks for holds for every stream that is left to `auto`.
    if (options_.colour == When::kAuto && environment_.force_colour) options_.colour = When::kAlways;
    if (options_.colour == When::kAuto && (environment_.no_colour || environment_.term == "dumb")) {
      options_.colour = When::kNever;
    }
    options_.log.colour =
        options_.colour == When::kAlways || (options_.colour == When::kAuto && isatty(STDERR_FILENO) == 1);
    return {};
  }

  Result<void> read_period(const OptionReader& from) {
    const auto moment = [](std::string_view text) { return parse_moment(text, SystemClock().wall()); };
    if (auto read = from.read_with(OptionId::kSince, moment, options_.since); !read) return read;
    if (auto read = from.read_with(OptionId::kUntil, moment, options_.until); !read) return read;
    if (!options_.since || !options_.until || *options_.since < *options_.until) return {};
    return usage_error("--since is not before --until", "swap them");
  }

  /// The options of the commands that run nothing.
  Result<void> read_switches() {
    const auto from = reader();
    const std::pair<OptionId, bool*> switches[] = {
        {OptionId::kJson, &options_.json},     {OptionId::kWatch, &options_.watch},
        {OptionId::kYes, &options_.yes},       {OptionId::kDryRun, &options_.dry_run},
        {OptionId::kPrint, &options_.print},   {OptionId::kIfHeld, &options_.if_held},
        {OptionId::kStrict, &options_.strict}, {OptionId::kShell, &options_.shell},
        {OptionId::kFollow, &options_.follow}, {OptionId::kForeignData, &options_.foreign_data},
        {OptionId::kForce, &options_.force},
    };
    for (const auto& [id, value] : switches) {
      if (auto read = from.read(id, *value); !read) return read;
    }
    // Who reads JSON reads the errors as JSON.
    if (options_.json && !from.given_by_flag(OptionId::kLogFormat)) options_.log.format = Log::Format::kJson;
    if (options_.json && options_.shell) return usage_error("--json and --shell exclude each other", "choose one");
    if (from.find(OptionId::kSvg) != nullptr) options_.svg = true;  // another command has a FILE of this name
    if (options_.json && options_.svg) return usage_error("--json and --svg exclude each other", "choose one");
    if (options_.follow && options_.svg) return usage_error("--follow and --svg exclude each other", "choose one");
    if (auto read = read_period(from); !read) return read;
    if (auto read = from.read(OptionId::kLast, 1, kMostBenchRounds, options_.last); !read) return read;
    if (auto read = from.read(OptionId::kMatch, options_.match); !read) return read;
    if (auto read = from.read(OptionId::kSlot, options_.slot); !read) return read;
    if (options_.force && !options_.wait && !options_.nonblock) {
      return usage_error("--force means nothing without --wait", "say how much time the holder gets to end: --wait D");
    }
    if (options_.force && !options_.slot.empty()) {
      return usage_error("--force would take the permits of all holders, and --slot asks one", "leave one out");
    }
    if (auto read = from.read_with(OptionId::kToken, FencingToken::parse, options_.token); !read) return read;
    if (auto read = from.read_with(OptionId::kOwner, Owner::parse, options_.owner); !read) return read;
    const bool orders = arguments_.command == Command::kBench && !arguments_.words.empty();
    const int most = orders ? kMostBenchOrders : kMostBenchRounds;
    if (auto read = from.read(OptionId::kCount, 1, most, options_.count); !read) return read;
    int pid = 0;
    if (auto read = from.read(OptionId::kWatchPid, 1, 1 << 22, pid); !read) return read;
    if (pid > 0) options_.watch_pid = pid;
    if (from.find(OptionId::kInterval) == nullptr) return {};
    if (!options_.watch) return usage_error("--interval means nothing without --watch", "add --watch");
    return from.read(OptionId::kInterval, 100ms, options_.interval.emplace());
  }

  Result<void> read_once() { return read_once_options(reader(), options_); }

  Result<void> read_operands() {
    if (arguments_.command == Command::kStock) return read_stock_options(arguments_, reader(), options_);
    return place_operands(arguments_, options_);
  }

  const Arguments& arguments_;
  const Environment& environment_;
  std::string key_section_{kChosenForKeys};
  std::vector<Error>* mistakes_ = nullptr;  ///< where wrong values go, instead of being the end
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

Result<Options> parse_command_line(int argc, char** argv, char** environment) {
  TRY_ASSIGN(auto arguments, split_arguments(argc, argv));
  const Environment surroundings = read_environment(environment);
  return Composer(arguments, surroundings).compose();
}

}  // namespace dlock
