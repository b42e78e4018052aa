// SPDX-License-Identifier: Apache-2.0
#include "lib/base/last_words.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace dlock {
namespace {

constexpr int kCrashStatus = 69;
#ifdef DLOCK_SANITIZED
constexpr bool kSanitizerTells = true;  // which has more to say about a crash
#else
constexpr bool kSanitizerTells = false;
#endif

/// What a handler may touch: everything is made before. One for each signal, and one for what is no signal.
constexpr std::array<std::pair<int, const char*>, 5> kCrashes{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};
constexpr std::size_t kWordsRoom = 2048;

struct LastWords {
  char bytes[kWordsRoom];
  std::size_t size;
};
std::array<LastWords, kCrashes.size()> words_for;
int words_listener = -1;
std::string (*encode_for_listener)(const std::string&) = nullptr;

void say_last(const LastWords& last) {
  int type = 0;
  socklen_t size = sizeof type;
  if (words_listener < 0) {
    if (write(STDERR_FILENO, last.bytes, last.size) < 0) _exit(kCrashStatus);
  } else if (getsockopt(words_listener, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) {
    send(words_listener, last.bytes, last.size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void on_crash(int number) {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    if (kCrashes[i].first == number) say_last(words_for[i]);
  }
  _exit(kCrashStatus);
}

}  // namespace

void send_last_words(int descriptor, std::string (*encode)(const std::string& why)) {
  words_listener = descriptor;
  encode_for_listener = encode;
}

void set_last_words(const std::string& why) {
  if (kSanitizerTells) return;
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_RESETHAND;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    const std::string text = why + " (" + kCrashes[i].second + ")";
    const std::string bytes = encode_for_listener ? encode_for_listener(text) : "dlock: " + text + "\n";
    words_for[i].size = std::min(bytes.size(), kWordsRoom);
    std::memcpy(words_for[i].bytes, bytes.data(), words_for[i].size);
    sigaction(kCrashes[i].first, &action, nullptr);
  }
}

}  // namespace dlock
