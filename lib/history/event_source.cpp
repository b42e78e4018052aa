// SPDX-License-Identifier: Apache-2.0
#include "lib/history/event_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "lib/base/descriptor_io.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"

namespace dlock {
namespace {

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
  if (present.failure == ENOENT) return no_such_file(path);
  return read_file(present, use, pipes);
}

Error no_journal(const std::string& why) {
  return {ErrorCode::kMisconfigured, "cannot read the journal: " + why,
          "without one, events = \"FILE\" in the configuration records them; dlock history --events FILE reads them"};
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

Result<void> read_events(const EventPlace& place, const UseLine& use, Pipes pipes) {
  switch (place.kind) {
    case EventPlace::Kind::kOff:
      return Error{
          ErrorCode::kMisconfigured, "no events are recorded",
          "record them: events = \"journald\" below the line [defaults] of the configuration, or --events FILE"};
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
