// SPDX-License-Identifier: Apache-2.0
#include "lib/history/event_log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/named_file.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr std::string_view kJournal = "journald";
constexpr std::string_view kDescriptor = "fd:";
constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

/// 0, or the errno. A piece of a line is as good as none: its reader knows it by its missing end.
int written(ssize_t bytes, std::size_t wanted) {
  if (bytes < 0) return errno;
  return static_cast<std::size_t>(bytes) == wanted ? 0 : ENOSPC;
}

/// Does not wait for a reader of a pipe.
UniqueFd open_file(const std::string& path) { return open_named_file(path, O_APPEND | O_NONBLOCK); }

int append_to_file(const std::string& path, const std::string& line) {
  const UniqueFd file = open_file(path);
  if (!file.valid()) return errno;
  return written(write(file.get(), line.data(), line.size()), line.size());
}

/// The descriptor is not ours alone: it is not made non-blocking, a pipe or terminal is opened again instead.
int append_to_descriptor(int fd, const std::string& line) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return errno;
  if (S_ISSOCK(about.st_mode)) {
    return written(send(fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL), line.size());
  }
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) {
    return written(write(fd, line.data(), line.size()), line.size());
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const UniqueFd again(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!again.valid()) return errno;
  return written(write(again.get(), line.data(), line.size()), line.size());
}

int send_to(const std::string& path, const std::string& datagram) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd sender(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!sender.valid()) return errno;
  return written(sendto(sender.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                        reinterpret_cast<const sockaddr*>(&address), sizeof address),
                 datagram.size());
}

int priority_of(Event::Kind kind) {
  using Kind = Event::Kind;
  const auto is_one_of = [&](std::initializer_list<Kind> kinds) { return std::ranges::count(kinds, kind) > 0; };
  if (is_one_of({Kind::kLost, Kind::kUnreached, Kind::kUnavailable, Kind::kUnlocked})) return LOG_WARNING;
  return is_one_of({Kind::kForceReleased, Kind::kRevoked}) ? LOG_NOTICE : LOG_INFO;
}

/// Values with line ends have their length before them; these have none, since dlock.event/1 is one line of JSON.
void put_field(std::string& out, const char* name, std::string_view value) {
  if (!value.empty()) out.append(name).append("=").append(printable(value)).append("\n");
}

std::string text_of(const std::string& text) { return text; }
std::string text_of(FencingToken token) { return token.is_none() ? "" : token.text(); }
std::string text_of(std::int64_t pid) { return std::to_string(pid); }
std::string text_of(int number) { return std::to_string(number); }
std::string text_of(bool value) { return value ? "1" : ""; }
std::string text_of(Mode mode) { return mode_name(mode); }
std::string text_of(WallTime time) { return rfc3339(time); }
std::string text_of(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count());
}
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "";
}

/// DLOCK_STORE, DLOCK_OWNER and so on: of the members of dlock.event/1 those that the event has.
struct JournalWriter {
  std::string& out;

  template <typename T>
  void operator()(std::string name, const T& value) {
    if (std::same_as<T, std::optional<Duration>>) name += "_ms";
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    put_field(out, ("DLOCK_" + name).c_str(), text_of(value));
  }
  template <typename T>
  void rare(const char* name, const T& value) {
    (*this)(name, value);
  }
};

std::string one_line(const Event& event) {
  std::string line = event_line(event);
  line.pop_back();
  return line;
}

Error no_place(std::string why) {
  return {ErrorCode::kInvalid, std::move(why),
          "write a file name with a / in it (./events), journald, fd:N or off; "
          "journald:/SOCKET is another socket"};
}

/// A file's name has a '/', so that a word that is mistyped is not one.
Error bare_name(std::string_view text) {
  Nearest nearest(text);
  for (const std::string_view one : {kJournal, std::string_view("off")}) nearest.offer(one);
  Error error = no_place("'" + printable(text, 80) + "' is neither journald nor a file with a / in its name");
  error.next = did_you_mean(nearest.best(), "for a file of that name write ./" + printable(text, 80));
  return error;
}

/// nullopt if `text` is neither "journald" nor begins with it and a colon.
std::optional<Result<EventPlace>> journal_at(std::string_view text) {
  if (text == kJournal) return EventPlace{EventPlace::Kind::kJournal};
  if (!text.starts_with(kJournal) || text[kJournal.size()] != ':') return std::nullopt;
  const std::string_view socket = text.substr(kJournal.size() + 1);
  if (socket.starts_with('/')) return EventPlace{EventPlace::Kind::kJournal, std::string(socket)};
  return no_place("'" + printable(text, 80) + "' names no socket");
}

constexpr std::size_t kLongestLine = 1 << 20;

using UseLine = std::function<void(std::string_view)>;

/// 0, or the errno. Of a line that is longer than any event `use` gets the beginning: it is none.
int read_lines(int fd, const UseLine& use) {
  std::string rest;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read_waiting(fd, buffer, sizeof buffer);
    if (n < 0) return errno;
    if (n == 0) break;
    std::string_view more(buffer, static_cast<std::size_t>(n));
    if (rest.size() >= kLongestLine) more.remove_prefix(std::min(more.find('\n'), more.size()));
    rest.append(more);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
      use(std::string_view(rest).substr(begin, end - begin));
    }
    rest.erase(0, begin);
  }
  if (!rest.empty()) use(rest);
  return 0;
}

Error no_such_file(const std::string& path) {
  return {ErrorCode::kMisconfigured, "no events are recorded in " + path + ": there is no such file",
          "it is created when a lock is taken with --events " + path + ", or with events = in the configuration"};
}

Error not_events(const std::string& path, const std::string& why) {
  return {ErrorCode::kMisconfigured, "cannot read events from " + path + ": " + why,
          "name the file that dlock wrote with --events FILE"};
}

Result<void> check_kind(int fd, const std::string& path, Pipes pipes) {
  struct stat about {};
  if (fstat(fd, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) return {};
  if (S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode)) return not_events(path, "it is a device");
  if (pipes == Pipes::kRefused) return not_events(path, "it is a pipe, which only dlock history reads");
  return {};
}

struct Opened {
  explicit Opened(const std::string& its_path)
      : path(its_path),
        file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)),
        failure(file.valid() ? 0 : errno) {}

  const std::string path;
  const UniqueFd file;
  const int failure;
};

Result<void> read_file(const Opened& opened, const UseLine& use, Pipes pipes) {
  const std::string& path = opened.path;
  int failure = opened.failure;
  if (failure == 0) {
    if (auto fit = check_kind(opened.file.get(), path, pipes); !fit) return fit;
    failure = read_lines(opened.file.get(), use);
  }
  if (failure == 0) return {};
  Error error = system_error("cannot read the events in " + path, failure);
  error.next = "what happened is not known; look as a user who may read it";
  return error;
}

/// FILE is opened before FILE.1 is, so that one that becomes FILE.1 at this moment is not missed; it is read once.
/// After a rotation there is no FILE until something happens.
Result<void> read_files(const std::string& path, const UseLine& use, Pipes pipes) {
  const Opened present(path);
  const Opened rotated(path + ".1");
  struct stat one {};
  struct stat other {};
  const bool same = fstat(present.file.get(), &one) == 0 && fstat(rotated.file.get(), &other) == 0 &&
                    one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (rotated.failure != ENOENT && !same) {
    if (auto read = read_file(rotated, use, pipes); !read) return read;
  }
  if (present.failure == ENOENT) return rotated.failure == 0 ? Result<void>() : no_such_file(path);
  return read_file(present, use, pipes);
}

Error no_journal(const std::string& why) {
  return {
      ErrorCode::kMisconfigured, "cannot read the journal: " + why,
      "without one, events = \"/PATH/FILE\" in the configuration records them; dlock history --events FILE reads them"};
}

Result<void> read_journal(const UseLine& use) {
  int broken = 0;
  const auto status = run_program({"journalctl", "--no-pager", "--quiet", "--output=json",
                                   "--output-fields=DLOCK_JSON,MESSAGE", "--identifier=dlock"},
                                  [&](int output) {
                                    broken = read_lines(output, [&](std::string_view line) {
                                      if (const auto message = journal_message(line)) use(*message);
                                      else use(line);
                                    });
                                  });
  if (!status) return no_journal(status.error().message);
  if (broken != 0) return no_journal(errno_text(broken));
  if (*status == 0) return {};
  Error error = no_journal("journalctl failed");
  error.code = ErrorCode::kDenied;
  error.next = "the reason is above; members of the group systemd-journal may read the journal";
  return error;
}

}  // namespace

std::string EventPlace::text() const {
  if (kind == Kind::kOff) return "off";
  if (kind == Kind::kFile) return path;
  if (kind == Kind::kDescriptor) return std::string(kDescriptor) + std::to_string(fd);
  return std::string(kJournal) + (path.empty() ? "" : ":" + path);
}

Result<EventPlace> parse_event_place(std::string_view text) {
  if (text == "off") return EventPlace{};
  if (auto journal = journal_at(text)) return *journal;
  if (text == "syslog" || text.starts_with("syslog:")) return no_place("events cannot go to syslog");
  if (text.starts_with(kDescriptor)) {
    const auto fd = whole_number<int>(text.substr(kDescriptor.size()));
    if (fd && *fd >= 0) return EventPlace{EventPlace::Kind::kDescriptor, {}, *fd};
    return no_place("'" + printable(text, 80) + "' is not a descriptor");
  }
  if (text.empty()) return no_place("the file is empty");
  if (text.find('/') == std::string_view::npos) return bare_name(text);
  return EventPlace{EventPlace::Kind::kFile, std::string(text)};
}

Result<EventPlace> parse_open_event_place(std::string_view text) {
  auto place = parse_event_place(text);
  if (place) place->typed = true;
  if (!place || place->kind != EventPlace::Kind::kDescriptor) return place;
  const int flags = fcntl(place->fd, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return place;
  return no_place(place->text() + (flags < 0 ? " is not open" : " is not open for writing"));
}

Result<void> check_event_file(const EventPlace& place) {
  if (!place.typed || place.kind != EventPlace::Kind::kFile || open_file(place.path).valid() || errno == ENXIO)
    return {};
  Error error = system_error("cannot write the events to " + place.path, errno);
  error.next = "nothing was locked";
  return error;
}

void EventLog::append(const Event& event) {
  if (is_off()) return;
  const int failure = write_down(event);
  if (failure == 0 || warned_ || (failure == ENOENT && is_usual_journal())) return;
  warned_ = true;
  log_.warn("what happens to " + event.key + " is not recorded: " + place_.text() + ": " + errno_text(failure) +
            "; everything else goes on");
}

int EventLog::write_down(const Event& event) {
  switch (place_.kind) {
    case EventPlace::Kind::kOff:
      return 0;
    case EventPlace::Kind::kFile:
      return append_to_file(place_.path, event_line(event));
    case EventPlace::Kind::kDescriptor:
      return append_to_descriptor(place_.fd, event_line(event));
    case EventPlace::Kind::kJournal:
      return send_to(place_.path.empty() ? kJournalSocket : place_.path, journal_datagram(event));
  }
  return 0;
}

std::string journal_datagram(const Event& event) {
  std::string out;
  put_field(out, "MESSAGE", event_text(event));
  put_field(out, "PRIORITY", std::to_string(priority_of(event.kind)));
  put_field(out, "SYSLOG_IDENTIFIER", "dlock");
  put_field(out, "DLOCK_EVENT", event_name(event.kind));
  put_field(out, "DLOCK_KEY", event.key);
  JournalWriter writer{out};
  visit_fields(event, writer);
  put_field(out, "DLOCK_JSON", one_line(event));
  return out;
}

Result<void> read_events(const EventPlace& place, const UseLine& use, Pipes pipes) {
  switch (place.kind) {
    case EventPlace::Kind::kOff:
      return Error{ErrorCode::kMisconfigured, "no events are recorded",
                   "record them: events = \"journald\" below [defaults], or --events FILE"};
    case EventPlace::Kind::kDescriptor:
      return Error{ErrorCode::kMisconfigured, "it is not known where the events of " + place.text() + " went",
                   "name the file: --events FILE"};
    case EventPlace::Kind::kJournal:
      return read_journal(use);
    case EventPlace::Kind::kFile:
      return read_files(place.path, use, pipes);
  }
  return {};
}

Result<History> read_history(const EventPlace& place, WallTime now, Pipes pipes) {
  History history;
  const auto read = read_events(
      place, [&](std::string_view line) { history.add_line(line); }, pipes);
  if (!read) return read.error();
  history.finish(now);
  return history;
}

}  // namespace dlock
