// SPDX-License-Identifier: Apache-2.0
// redis_probe [--every MS] [--times N] [--deadline MS] URL KEY COMMAND...: asks the server in charge of KEY, prints
// "MILLISECONDS REPLY" or "MILLISECONDS error CODE: message"; KEY "all" with no COMMAND lists all servers. For tests.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "lib/base/clock.h"

namespace dlock::redis {
namespace {

struct Options {
  Duration every = Duration::zero();
  int times = 1;
  Duration deadline = std::chrono::seconds(5);
};

Duration milliseconds(const char* text) { return std::chrono::milliseconds(std::atoi(text)); }

int read_options(Options& options, int argc, char** argv) {
  int next = 1;
  for (; next + 1 < argc && std::strncmp(argv[next], "--", 2) == 0; next += 2) {
    const std::string name = argv[next];
    if (name == "--every") options.every = milliseconds(argv[next + 1]);
    if (name == "--times") options.times = std::atoi(argv[next + 1]);
    if (name == "--deadline") options.deadline = milliseconds(argv[next + 1]);
  }
  return next;
}

std::string text_of(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kNil:
      return "(nil)";
    case Reply::Kind::kInteger:
      return std::to_string(reply.integer);
    case Reply::Kind::kError:
      return "-" + reply.text;
    case Reply::Kind::kString:
    case Reply::Kind::kStatus:
      return reply.text;
    case Reply::Kind::kArray:
      break;
  }
  std::string all = "[";
  for (const Reply& element : reply.elements) all += (all.size() > 1 ? " " : "") + text_of(element);
  return all + "]";
}

Result<std::unique_ptr<Deployment>> deployment(const BackendUrl& url, Clock& clock) {
  constexpr Duration kConnect = std::chrono::seconds(1);
  if (url.scheme.ends_with("+sentinel")) return sentinel_deployment(url, clock, kConnect);
  if (url.scheme.ends_with("+cluster")) return cluster_deployment(url, clock, kConnect);
  return single_deployment(url, clock, kConnect);
}

std::string answer(Deployment& servers, const std::string& key, const std::vector<Command>& commands, TimePoint until) {
  const auto failure = [](const Error& error) {
    return "error " + std::to_string(static_cast<int>(error.code)) + ": " + error.message + " | " + error.next;
  };
  std::string text;
  if (commands.empty()) {
    auto all = servers.all_servers(until);
    if (!all) return failure(all.error());
    for (const Connection* one : *all) text += (text.empty() ? "" : " ") + one->settings().endpoint.text();
    return text;
  }
  auto replies = servers.call(key, commands, until, nullptr);
  if (!replies) return failure(replies.error());
  for (const Reply& reply : *replies) text += (text.empty() ? "" : " ") + text_of(reply);
  const Connection* by = servers.current(key);
  return text + " @ " + (by == nullptr ? "?" : by->settings().endpoint.text());
}

/// Words up to ";" are one command.
std::vector<Command> commands_of(char** words) {
  std::vector<Command> commands;
  bool begin = true;
  for (; *words != nullptr; ++words) {
    if (std::exchange(begin, false)) commands.emplace_back();
    if (std::strcmp(*words, ";") == 0) begin = true;
    else commands.back().emplace_back(*words);
  }
  return commands;
}

int run(int argc, char** argv) {
  Options options;
  const int first = read_options(options, argc, argv);
  if (first + 1 >= argc) return 64;
  auto url = BackendUrl::parse(argv[first]);
  if (!url) return std::printf("error: %s\n", url.error().message.c_str()), 64;
  SystemClock clock;
  auto servers = deployment(*url, clock);
  if (!servers) return std::printf("error: %s\n", servers.error().message.c_str()), 78;
  const std::vector<Command> commands = commands_of(argv + first + 2);
  const TimePoint start = clock.now();
  for (int i = 0; i < options.times; ++i) {
    const TimePoint begin = clock.now();
    const std::string text = answer(**servers, argv[first + 1], commands, begin + options.deadline);
    const auto since = [&](TimePoint from) {
      return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - from).count());
    };
    std::printf("%6ld (%ld ms) %s\n", since(start), since(begin), text.c_str());
    std::fflush(stdout);
    std::vector<pollfd> none;
    while (i + 1 < options.times && clock.now() < begin + options.every) clock.wait(none, begin + options.every);
  }
  return 0;
}

}  // namespace
}  // namespace dlock::redis

int main(int argc, char** argv) { return dlock::redis::run(argc, argv); }
