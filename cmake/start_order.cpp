// SPDX-License-Identifier: Apache-2.0
// Which functions of programs run, as a script for GNU ld that puts these side by side.
//
//   start_order [--held FILE] PROGRAM... -- COMMAND...
//
// Runs COMMAND, and whatever that starts, with a breakpoint (ptrace(2)) at each function of each PROGRAM that is still
// to run; each costs one stop. PROGRAM.map, the linker's map, tells from which section of which file a function comes.
// PROGRAM.ld is written: the functions that FILE names, a pattern on each line that is no comment, and these sections, in
// the order of the map, so that the same functions give the same script.
// Where nothing can be traced the scripts name nothing, which is said, and no error. For x86-64.
#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Address = std::uint64_t;
constexpr char kBreakpoint = '\xcc';
constexpr unsigned kRuns = 3;
constexpr unsigned kLongestRun = 60;  // seconds

struct Program {
  std::string path;
  struct stat file = {};
  Address entry = 0;
  std::map<Address, char> functions = {};  ///< their first bytes
  std::set<Address> ran_now = {};          ///< in the run that is under way
  std::map<Address, unsigned> ran = {};    ///< in how many runs

  bool has_run_often(Address function) const {
    const auto times = ran.find(function);
    return times != ran.end() && times->second * 2 > kRuns;
  }
};

/// A process that runs a program, which lies so far from where it was linked to.
struct Process {
  Program* program;
  Address shift;
};

std::string proc(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
std::span<const T> table_at(const std::string& image, Address offset, Address count) {
  return {reinterpret_cast<const T*>(image.data() + offset), count};
}

/// Of an ELF file of 64 bits that has its symbols.
std::optional<Program> read_program(const std::string& path) {
  Program program{path};
  const std::string image = content_of(path);
  if (image.size() < sizeof(Elf64_Ehdr) || image.compare(0, SELFMAG, ELFMAG) != 0 ||
      stat(path.c_str(), &program.file) != 0) {
    return {};
  }
  const auto& header = table_at<Elf64_Ehdr>(image, 0, 1).front();
  program.entry = header.e_entry;
  const auto sections = table_at<Elf64_Shdr>(image, header.e_shoff, header.e_shnum);
  for (const auto& table : sections) {
    if (table.sh_type != SHT_SYMTAB) continue;
    for (const auto& symbol : table_at<Elf64_Sym>(image, table.sh_offset, table.sh_size / sizeof(Elf64_Sym))) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
          symbol.st_shndx >= sections.size())
        continue;
      const auto& code = sections[symbol.st_shndx];
      if (code.sh_flags & SHF_EXECINSTR)
        program.functions[symbol.st_value] = image[code.sh_offset + symbol.st_value - code.sh_addr];
    }
  }
  return program;
}

class Tracer {
 public:
  explicit Tracer(std::vector<Program>& programs) : programs_(programs) {}

  /// Until all processes have ended, or for kLongestRun.
  void run(char** command) {
    const pid_t pid = fork();
    if (pid == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) raise(SIGSTOP);
      execvp(command[0], command);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, pid, nullptr,
           PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    for (pid_t stopped = 0; (stopped = waitpid(-1, &status, __WALL)) > 0;) {
      if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, stopped, nullptr, static_cast<long>(handle(stopped, status)));
    }
  }

 private:
  /// The signal that the process gets.
  int handle(pid_t pid, int status) {
    const int signal = WSTOPSIG(status);
    if (status >> 16 == PTRACE_EVENT_EXEC) set_breakpoints(pid);
    if (status >> 16 != 0 || signal == SIGSTOP) return 0;  // new processes begin with that one
    return signal == SIGTRAP && step_over(pid) ? 0 : signal;
  }

  void set_breakpoints(pid_t pid) {
    struct stat file {};
    stat(proc(pid, "exe").c_str(), &file);
    for (auto& program : programs_) {
      if (program.file.st_ino != file.st_ino || program.file.st_dev != file.st_dev) continue;
      const Address shift = entry_of(pid) - program.entry;
      processes_.push_back({&program, shift});
      for (const auto& [at, byte] : program.functions) {
        if (!program.ran_now.contains(at)) write_code(pid, shift + at, kBreakpoint);
      }
    }
  }

  /// Where the process began.
  static Address entry_of(pid_t pid) {
    std::ifstream vector(proc(pid, "auxv"), std::ios::binary);
    std::array<Address, 2> entry{};
    while (vector.read(reinterpret_cast<char*>(entry.data()), sizeof entry)) {
      if (entry[0] == AT_ENTRY) return entry[1];
    }
    return 0;
  }

  /// Whether it stands behind a breakpoint of ours. Threads may, of whom another one has been here before.
  bool step_over(pid_t pid) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    const Address at = registers.rip - 1;
    for (const auto& process : processes_) {
      const auto function = process.program->functions.find(at - process.shift);
      if (function == process.program->functions.end()) continue;
      process.program->ran_now.insert(function->first);
      write_code(pid, at, function->second);
      registers.rip = at;
      ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
      return true;
    }
    return false;
  }

  static void write_code(pid_t pid, Address at, char byte) {
    const int memory = open(proc(pid, "mem").c_str(), O_RDWR | O_CLOEXEC);
    if (memory < 0 || pwrite(memory, &byte, 1, static_cast<off_t>(at)) != 1)
      std::perror("start_order: a process's memory");
    if (memory >= 0) close(memory);
  }

  std::vector<Program>& programs_;
  std::vector<Process> processes_;
};

/// A section that the linker took from a file, such as ".text.abort" of "/usr/lib/libc.a(abort.o)".
struct Section {
  std::string name;
  Address begin = 0, size = 0;
  std::string file = {};
};

/// The lines of code of a map: "NAME BEGIN SIZE FILE", where what follows a long NAME has a line of its own.
std::vector<Section> read_map(const std::string& path) {
  std::vector<Section> sections;
  std::ifstream map(path);
  std::string line, name;
  while (std::getline(map, line)) {
    std::istringstream words(line);
    if (line.starts_with(" .text")) words >> name;
    Section section{name};
    const bool whole = !name.empty() && words >> std::hex >> section.begin >> section.size >> section.file;
    if (whole && section.begin != 0) sections.push_back(section);  // at 0: not linked
    if (!line.starts_with(" .text") || !section.file.empty()) name.clear();
  }
  return sections;
}

bool has_run_often(const Program& program, const Section& section) {
  auto function = program.ran.lower_bound(section.begin);
  while (function != program.ran.end() && function->first < section.begin + section.size) {
    if (program.has_run_often((function++)->first)) return true;
  }
  return false;
}

/// As a script of the linker names a file, wherever that lies: "*libc.a:abort.o", "*main.cpp.o".
std::string pattern_of(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  if (const auto member = name.find('('); member != std::string::npos) {
    name[member] = ':';
    name.pop_back();
  }
  return "*" + name;
}

void write_script(const Program& program, const std::vector<std::string>& held) {
  std::ofstream script(program.path + ".ld");
  script << "SECTIONS\n{\n  .text.first :\n  {\n";
  for (const auto& function : held) script << "    *(.text." << function << ")\n";
  for (const auto& section : read_map(program.path + ".map")) {
    if (has_run_often(program, section)) script << "    " << pattern_of(section.file) << "(" << section.name << ")\n";
  }
  script << "  }\n}\nINSERT BEFORE .text;\n";
}

std::vector<std::string> read_patterns(const std::string& path) {
  std::vector<std::string> patterns;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') patterns.push_back(line);
  }
  return patterns;
}

}  // namespace

int main(int count, char** words) {
  char** word = words + 1;
  std::vector<std::string> held;
  if (count > 2 && std::strcmp(*word, "--held") == 0) {
    held = read_patterns(word[1]);
    word += 2;
  }
  const auto separator = std::find_if(word, words + count, [](const char* text) { return std::strcmp(text, "--") == 0; });
  if (separator == words + count || separator + 1 == words + count) {
    std::fprintf(stderr, "usage: start_order [--held FILE] PROGRAM... -- COMMAND...\n");
    return 64;
  }
  std::vector<Program> programs;
  for (; word != separator; ++word) {
    auto program = read_program(*word);
    if (!program) {
      std::fprintf(stderr, "start_order: %s is no program of 64 bits\n", *word);
      return 1;
    }
    programs.push_back(std::move(*program));
  }
  struct sigaction ring {};
  ring.sa_handler = [](int) {};  // ends the wait
  sigaction(SIGALRM, &ring, nullptr);
  for (unsigned run = 0; run < kRuns; ++run) {
    alarm(kLongestRun);
    Tracer(programs).run(separator + 1);
    for (auto& program : programs) {
      for (const Address function : program.ran_now) ++program.ran[function];
      program.ran_now.clear();
    }
  }
  for (const auto& program : programs) {
    write_script(program, held);
    std::printf("%s: %zu of %zu functions run first\n", program.path.c_str(), program.ran.size(),
                program.functions.size());
  }
}
