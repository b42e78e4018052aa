// SPDX-License-Identifier: Apache-2.0
// A lock file is bad input, whatever lies on the disk: refused, or what it says keeps to its limits. The first byte of
// an input says whether header and records get checksums that add up, since no random ones ever do, and whether the
// tickets of the records are alive: then their records are shown to people.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <climits>
#include <cstring>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/standing_leases.h"
#include "backends/local/files/store.h"
#include "backends/local/view.h"
#include "lib/base/human_text.h"
#include "tests/fuzz/target.h"

using namespace dlock;
using namespace dlock::local;
using namespace std::string_view_literals;

namespace {

enum Mark : unsigned { kPrologue = 1, kHeader = 2, kRecords = 4, kAlive = 8 };

template <typename Block>
constexpr std::array<char, sizeof(Block)> bytes_of(const Block& block) {
  return std::bit_cast<std::array<char, sizeof(Block)>>(block);
}
template <std::size_t kSize>
constexpr std::string_view text_of(const std::array<char, kSize>& bytes) {
  return {bytes.data(), kSize};
}

constexpr Header some_header() {
  Header header;
  header.counter = 1'000'000;
  header.last_writer = 999'999;
  header.known = 1;
  return header;
}
constexpr Record some_record(std::uint64_t ticket, Mode mode) {
  Record record;
  record.ticket = ticket;
  record.mode = static_cast<std::uint32_t>(mode);
  record.flags = Record::kGranted;
  record.pid = 1;
  record.host[0] = 'h';
  record.reason[0] = 'r';
  return record;
}
constexpr auto kSomeHeader = bytes_of(some_header());
constexpr auto kWriter = bytes_of(some_record(999'999, Mode::kExclusive));
constexpr auto kReader = bytes_of(some_record(1'000'000, Mode::kShared));
constexpr auto kPermit = bytes_of(some_record(3, Mode::kPermits));

struct NoClock final : Clock {
  TimePoint now() const override { return {}; }
  WallTime wall() const override { return {}; }
  void wait(std::vector<pollfd>&, std::optional<TimePoint>) override {}
};

/// The file under test, written anew for each input, in a directory of its own.
struct World {
  World() {
    promise(mkdtemp(path.data()) != nullptr, "there is a directory");
    dir = std::move(*LockDir::open(path, {.named = true, .allow_network_fs = true}));
    fd = std::move(*dir->open_file(kName, true));
  }
  ~World() {
    unlinkat(dir->fd(), kName, 0);
    rmdir(path.c_str());
  }
  static constexpr const char* kName = "fuzzed.lock";
  std::string path = "/tmp/dlock-fuzz-XXXXXX";
  std::optional<LockDir> dir;
  UniqueFd fd;
};

std::string image_of(unsigned marks, std::string_view rest) {
  Prologue prologue = prologue_for("k");
  Header header;
  std::memcpy(static_cast<void*>(&header), rest.data(), std::min(rest.size(), sizeof header));
  rest.remove_prefix(std::min(rest.size(), sizeof header));
  if (!(marks & kPrologue))
    std::memcpy(static_cast<void*>(&prologue), rest.data(), std::min<std::size_t>(rest.size(), 16));
  if (marks & kHeader) seal(header);
  std::string image(reinterpret_cast<const char*>(&prologue), sizeof prologue);
  image.append(reinterpret_cast<const char*>(&header), sizeof header);
  while (!rest.empty()) {
    Record record;
    const std::size_t size = std::min(rest.size(), sizeof record);
    std::memcpy(static_cast<void*>(&record), rest.data(), size);
    rest.remove_prefix(size);
    if (marks & kRecords) seal(record);
    image.append(reinterpret_cast<const char*>(&record), (marks & kRecords) ? sizeof record : size);
  }
  return image;
}

void check_header(const Header& header) {
  promise(header.counter <= kMaxTicket && header.revoked <= header.counter, "tickets keep to their limits");
  promise(header.ring >= kSmallRing && header.ring <= kMaxRing, "so does the ring");
  promise(header.delay_ns >= 0, "and the lock-delay");
  promise(next_ticket(header, 0) > header.counter, "a ticket is younger than those before");
}

void check_participant(const Participant& participant) {
  promise(participant.pid >= 0 && participant.pid <= INT_MAX, "a pid is a pid");
  promise(participant.host.size() < sizeof Record::host && participant.reason.size() < sizeof Record::reason,
          "texts end");
  promise(!participant.since || participant.since->time_since_epoch().count() >= 0, "nothing began before 1970");
  for (const auto& time : {participant.since, participant.until}) {
    if (time) static_cast<void>(rfc3339(*time));
  }
}

}  // namespace

const std::string_view dlock::kPieces[] = {"\17"sv,
                                           "\16"sv,
                                           "\7"sv,
                                           "\3"sv,
                                           "\0"sv,
                                           text_of(kSomeHeader),
                                           text_of(kWriter),
                                           text_of(kReader),
                                           text_of(kPermit),
                                           "\377\377\377\377\377\377\377\377"sv,
                                           "\0\0\0\0\0\0\0\200"sv,
                                           "dlockkey\1\0\0\0"sv};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  static NoClock clock;
  static const Log log;
  static const LocalContext context{
      .runtime = {clock, log}, .settings = {.store = "local:", .directory = {}}, .host = "h"};
  if (size == 0) return 0;
  const unsigned marks = data[0];
  const std::string image = image_of(marks, as_text(data + 1, size - 1));
  const int fd = world.fd.get();
  const auto length = static_cast<ssize_t>(image.size());
  promise(pwrite(fd, image.data(), image.size(), 0) == length && ftruncate(fd, length) == 0, "the file is written");

  auto opened = LockFile::open_existing(*world.dir, World::kName, "k", true);
  promise(opened && *opened, "the file is opened");
  const LockFile& file = **opened;
  const auto header = file.read_header();
  if (!header) {
    promise(header.error().code == ErrorCode::kMisconfigured || header.error().code == ErrorCode::kConflict,
            "a damaged file is a wrong configuration, or another key's");
    return 0;
  }
  check_header(*header);
  const auto records = file.read_records();
  if (marks & kAlive) {
    for (const auto& placed : records) {
      try_write_lock(fd, entry_byte(side_of(placed.record.lock_mode()), placed.record.ticket, 0));
    }
  }
  Header mine = *header;
  const auto leases = standing_leases(file, mine, context.runtime.clock.now());
  const auto place = file.claim_record(mine, leases);
  promise(!place || *place < kMaxRing, "a record has its place");
  const auto look = read_view(file, false, context.runtime.clock.now());
  promise(static_cast<bool>(look), "what has a header can be looked at");
  const LockState state = describe(*look, context, *LockName::parse("k"));
  for (const Participant& participant : state.holders) check_participant(participant);
  for (const Participant& participant : state.waiters) check_participant(participant);
  unlock_bytes(fd, kAllTickets);
  return 0;
}
