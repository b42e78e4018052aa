// SPDX-License-Identifier: Apache-2.0
// failing_network FOLDER PORT [PROTOCOL]: a relay between a client and a server of 127.0.0.1, for tests that say when
// it fails. PROTOCOL is redis (default), frames (ZooKeeper), mysql or bytes; see Framing.
//
// Writes FOLDER/port (where clients connect), FOLDER/control and FOLDER/pid. A connection to the port FOLDER/control of
// 127.0.0.1 takes a command, and is answered with one line when that is done:
//   pass                    hand on everything; what was held back goes out now
//   hold                    black hole: connections open, nothing arrives in either direction (kept for `pass`)
//   drop                    the same, but what comes meanwhile is gone for ever; also what was held
//   delay MS                hand on everything MS later
//   reset                   reset every connection; new ones work
//   refuse                  reset every connection, and new ones too until `pass`
//   hang N                  what is open goes on, and so do the next N connections; later ones are accepted and never
//                           answered, until `pass`
//   hung                    how many those were
//   cut requests|replies N  when N messages from now have been handed on in that direction, reset everything; new
//                           connections work. N = 0: the next message is not handed on
//   count                   "REQUESTS REPLIES" since the last `cut` or `count`
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.h"
#include "tests/support/relay.h"

namespace dlock {
namespace {

const std::map<std::string_view, Framing> kFramings = {
    {"redis", Framing::kRedis}, {"frames", Framing::kFrames}, {"mysql", Framing::kPackets}, {"bytes", Framing::kBytes}};
const std::map<std::string_view, RelayOrder::Traffic> kTraffic = {
    {"pass", RelayOrder::Traffic::kPass}, {"hold", RelayOrder::Traffic::kHold}, {"drop", RelayOrder::Traffic::kDrop}};

std::string counts_text(Relay::Counts counts) {
  return std::to_string(counts.requests) + ' ' + std::to_string(counts.replies);
}

std::string obey(Relay& relay, std::string_view command) {
  const std::string_view verb = cut(command, ' ');
  RelayOrder& order = relay.order();
  if (verb == "count") return counts_text(relay.take_counts());
  if (verb == "hung") return std::to_string(relay.unanswered());
  if (const auto traffic = kTraffic.find(verb); traffic != kTraffic.end()) {
    order.requests = order.replies = traffic->second;
    order.refuses = false;
  }
  if (verb == "pass") {
    order.late_by = Duration(0);
    order.answers.reset();
  } else if (verb == "delay") {
    order.late_by = std::chrono::milliseconds(leading_number<int>(command));
  } else if (verb == "hang") {
    order.answers = leading_number<int>(command);
  } else if (verb == "cut") {
    order.cuts_requests = cut(command, ' ') == "requests";
    order.cut_behind = leading_number<int>(command);
    relay.take_counts();
  } else if (verb == "reset" || verb == "refuse") {
    order.refuses = verb == "refuse";
    relay.reset_all();
  } else if (!kTraffic.contains(verb)) {
    return "what?";
  }
  return "ok";
}

bool put(const std::string& path, long number) {
  const std::string part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "w");
  if (!file) return false;
  std::fprintf(file, "%ld\n", number);
  return std::fclose(file) == 0 && std::rename(part.c_str(), path.c_str()) == 0;
}

/// One command of one connection.
struct Control {
  UniqueFd connection;
  std::string command = {};
  bool over = false;
};

void listen_to(Control& control, Relay& relay) {
  char block[256];
  const ssize_t size = recv(control.connection.get(), block, sizeof block, 0);
  if (size > 0) control.command.append(block, static_cast<std::size_t>(size));
  const std::size_t end = control.command.find('\n');
  control.over = size <= 0 || end != std::string::npos;
  if (end == std::string::npos) return;
  const std::string answer = obey(relay, std::string_view(control.command).substr(0, end)) + '\n';
  (void)send(control.connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
}

[[noreturn]] void serve(Relay relay, const UniqueFd& listener) {
  std::vector<Control> controls;
  while (true) {
    std::vector<pollfd> fds{{listener.get(), POLLIN, 0}};
    for (const Control& control : controls) fds.push_back({control.connection.get(), POLLIN, 0});
    relay.turn(fds);
    for (std::size_t i = 0; i < controls.size(); ++i) {
      if (fds[1 + i].revents != 0) listen_to(controls[i], relay);
    }
    std::erase_if(controls, [](const Control& control) { return control.over; });
    if (fds[0].revents != 0) controls.push_back({UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))});
  }
}

int run(const std::string& folder, std::uint16_t server, Framing framing) {
  std::vector<RelayPort> ports;
  auto port = open_relay_port(known_addresses("127.0.0.1", server).front());
  auto control = open_relay_port({});
  if (!port || !control) return 71;
  mkdir(folder.c_str(), 0777);
  const std::uint16_t number = port->number;
  ports.push_back(std::move(*port));
  if (!put(folder + "/control", control->number) || !put(folder + "/pid", getpid()) || !put(folder + "/port", number)) {
    return 71;
  }
  serve(Relay(std::move(ports), framing), control->listener);
}

}  // namespace
}  // namespace dlock

int main(int argc, char** argv) {
  using namespace dlock;
  const auto framing = kFramings.find(argc > 3 ? argv[3] : "redis");
  const auto port = argc > 2 ? whole_number<std::uint16_t>(argv[2]) : std::nullopt;
  if (!port || framing == kFramings.end()) return 64;
  return run(argv[1], *port, framing->second);
}
