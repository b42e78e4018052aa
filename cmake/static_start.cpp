// SPDX-License-Identifier: Apache-2.0
// How a static program of ours starts: __libc_start_main, in the place of that of the C library (GNU 2.36 on x86-64).
//
// The library's asks the processor by `cpuid`, forty to sixty times, which of its string functions are the fastest here
// and how large the caches are. Under a hypervisor each question is an exit of 3 to 7 µs, a fifth of what `dlock run`
// takes. Here nobody asks: the string functions are those that every x86-64 has, and the caches have the sizes that the
// library assumes where it knows none.
//
// All else is done as there, in the same order. The names are the library's own and may change with each release:
// cmake/static_start.cmake tries whether a program that starts like this works, and leaves others to the library.
// The first thread may not end by pthread_exit(3).
#include <features.h>
#if !defined(__x86_64__) || !defined(__GLIBC__) || __GLIBC__ != 2 || __GLIBC_MINOR__ != 36
#error "known for the GNU C library 2.36 on x86-64 alone"
#endif

#include <elf.h>

#include <cstdint>
#include <cstdlib>

#pragma GCC visibility push(hidden)  // all of it lies in the program itself

extern "C" {

using Initializer = void (*)(int, char**, char**);
using Finalizer = void (*)();
using AtExit = void (*)(void*);

// Of the C library.
extern int __libc_enable_secure;  // with rights of another user
extern void* __libc_stack_end;
extern const std::uint64_t* _dl_random;  // the kernel's two random words
void _dl_aux_init(Elf64_auxv_t*);
void __tunables_init(char**);
void _dl_relocate_static_pie();
void __libc_setup_tls();
void __libc_early_init(bool);
void __libc_init_first(int, char**, char**);
void __libc_check_standard_fds();
void* _dl_debug_initialize(std::uint64_t, long);

// Of crti.o.
void _init();
void _fini();

// Of the linker; the first two are missing where the program relocates itself.
extern const Elf64_Rela __rela_iplt_start[] __attribute__((weak));
extern const Elf64_Rela __rela_iplt_end[] __attribute__((weak));
extern const Initializer __preinit_array_start[], __preinit_array_end[];
extern const Initializer __init_array_start[], __init_array_end[];
extern const Finalizer __fini_array_start[], __fini_array_end[];

// What the library's string functions go by, in bytes: whoever starts the program defines them.
int __x86_string_control = 0;
long __x86_data_cache_size = 32 << 10;
long __x86_data_cache_size_half = 16 << 10;
long __x86_shared_cache_size = 1 << 20;
long __x86_shared_cache_size_half = 512 << 10;
long __x86_shared_non_temporal_threshold = 768 << 10;  // three quarters of the shared cache
long __x86_rep_movsb_threshold = 2 << 10;
long __x86_rep_movsb_stop_threshold = 768 << 10;
long __x86_rep_stosb_threshold = 2 << 10;

#pragma GCC visibility pop

extern char** __environ;
int __cxa_atexit(AtExit, void*, void*);
[[noreturn]] int __libc_start_main(int (*)(int, char**, char**), int, char**, Finalizer, Finalizer, Finalizer, void*);

}  // extern "C"

namespace {

Elf64_auxv_t* behind(char** environment) {
  while (*environment) ++environment;
  return reinterpret_cast<Elf64_auxv_t*>(environment + 1);
}

/// Chooses the library's functions of which there are several. Until then none of them can be called.
void choose_functions() {
  for (auto* row = __rela_iplt_start; row != __rela_iplt_end; ++row) {
    if (ELF64_R_TYPE(row->r_info) != R_X86_64_IRELATIVE) __builtin_trap();
    const auto choose = reinterpret_cast<std::uint64_t (*)()>(row->r_addend);
    *reinterpret_cast<std::uint64_t*>(row->r_offset) = choose();
  }
}

/// In the thread's own memory, where the compiler's and the library's code look for them.
void set_guards() {
  const std::uint64_t of_stacks = _dl_random[0] & ~std::uint64_t{0xff};  // the zero ends a string
  const std::uint64_t of_pointers = _dl_random[1];
  asm volatile("mov %0, %%fs:0x28" : : "r"(of_stacks) : "memory");
  asm volatile("mov %0, %%fs:0x30" : : "r"(of_pointers) : "memory");
}

void finish(void*) {
  for (auto* end = __fini_array_end; end != __fini_array_start;) (*--end)();
  _fini();
}

void call_all(const Initializer* begin, const Initializer* end, int count, char** words) {
  for (; begin != end; ++begin) (*begin)(count, words, __environ);
}

}  // namespace

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, Finalizer, Finalizer,
                      Finalizer at_exit, void* stack_end) {
  __environ = words + count + 1;
  __libc_stack_end = stack_end;
  _dl_aux_init(behind(__environ));
  __tunables_init(__environ);
  _dl_relocate_static_pie();
  choose_functions();
  __libc_setup_tls();
  set_guards();
  if (at_exit) __cxa_atexit(reinterpret_cast<AtExit>(at_exit), nullptr, nullptr);
  __libc_early_init(true);
  __libc_init_first(count, words, __environ);
  __cxa_atexit(finish, nullptr, nullptr);
  if (__libc_enable_secure) __libc_check_standard_fds();
  call_all(__preinit_array_start, __preinit_array_end, count, words);
  _init();
  call_all(__init_array_start, __init_array_end, count, words);
  _dl_debug_initialize(0, 0);
  std::exit(main(count, words, __environ));
}
