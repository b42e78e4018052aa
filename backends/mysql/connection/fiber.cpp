// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/fiber.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace dlock::mysql {
namespace {

constexpr std::size_t kStack = 512UL * 1024;  ///< touched only as far as it is used; a TLS handshake needs 40 KiB
constexpr std::size_t kGuard = 4096;
constexpr int kForEver = 1000 * 1000;  ///< ms: who waits longer has a finer time of its own

/// A broken connection must be noticed while the server works on a statement for long, which is how waiters wait.
constexpr int kKeepaliveIdle = 15;      // s
constexpr int kKeepaliveInterval = 5;   // s
constexpr int kKeepaliveProbes = 3;     //
constexpr int kUnacknowledged = 20000;  // ms

thread_local Fiber* running_fiber = nullptr;

void keep_alive(int fd) {
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0) return;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepaliveIdle, sizeof kKeepaliveIdle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepaliveInterval, sizeof kKeepaliveInterval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepaliveProbes, sizeof kKeepaliveProbes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledged, sizeof kUnacknowledged);
}

UniqueFd timer_of(int timeout_ms) {
  UniqueFd timer(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  itimerspec when{};
  when.it_value.tv_sec = timeout_ms / 1000;
  when.it_value.tv_nsec = (timeout_ms % 1000) * 1000000L + 1;
  timerfd_settime(timer.get(), 0, &when, nullptr);
  return timer;
}

/// A name that is looked up by a thread of its own, because getaddrinfo(3) can neither be polled nor stopped. One that
/// is not waited for any more is left alone.
struct Lookup {
  std::string host, service;
  addrinfo hints{};
  UniqueFd ready{eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex;
  bool abandoned = false;  ///< guarded, as all below
  std::optional<int> status;
  addrinfo* found = nullptr;
};

}  // namespace
}  // namespace dlock::mysql

// The library's archive, and everything else in the program, calls these through the linker (backends/CMakeLists.txt).
// Outside of a fiber they are what they always were.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __real_socket(int family, int type, int protocol);
int __real_close(int fd);
int __real_poll(pollfd* fds, nfds_t count, int timeout_ms);
int __real_getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found);

int __wrap_socket(int family, int type, int protocol) {
  dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current();
  const int fd = __real_socket(family, type | SOCK_CLOEXEC, protocol);
  if (fiber == nullptr || fd < 0) return fd;
  if (family != AF_UNIX) dlock::mysql::keep_alive(fd);
  fiber->socket_opened(fd);
  return fd;
}

int __wrap_close(int fd) {
  if (dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current()) fiber->socket_closing(fd);
  return __real_close(fd);
}

int __wrap_poll(pollfd* fds, nfds_t count, int timeout_ms) {
  dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current();
  return fiber == nullptr ? __real_poll(fds, count, timeout_ms) : fiber->wait(fds, count, timeout_ms);
}

/// Nobody wants to know which port /etc/services has for a URL that names one; finding out opens fifty files.
servent* __wrap_getservbyname(const char* /*name*/, const char* /*protocol*/) { return nullptr; }
// NOLINTEND(bugprone-reserved-identifier)
}

namespace dlock::mysql {
namespace {

void* look_up(void* argument) {
  const std::unique_ptr<std::shared_ptr<Lookup>> owned(static_cast<std::shared_ptr<Lookup>*>(argument));
  Lookup& lookup = **owned;
  addrinfo* found = nullptr;
  const int status = __real_getaddrinfo(lookup.host.c_str(), lookup.service.empty() ? nullptr : lookup.service.c_str(),
                                        &lookup.hints, &found);
  const std::lock_guard hold(lookup.mutex);
  if (lookup.abandoned && status == 0) freeaddrinfo(found);
  else lookup.found = found;
  lookup.status = status;
  const std::uint64_t one = 1;
  (void)!write(lookup.ready.get(), &one, sizeof one);
  return nullptr;
}

bool start_lookup(const std::shared_ptr<Lookup>& lookup) {
  auto owned = std::make_unique<std::shared_ptr<Lookup>>(lookup);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, look_up, owned.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (started) (void)owned.release();
  return started;
}

int look_up_from(Fiber& fiber, const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  if (service != nullptr) lookup->service = service;
  if (hints != nullptr) lookup->hints = *hints;
  if (!start_lookup(lookup)) return EAI_MEMORY;
  pollfd fd{lookup->ready.get(), POLLIN, 0};
  (void)fiber.wait(&fd, 1, -1);
  const std::lock_guard hold(lookup->mutex);
  if (!lookup->status) {
    lookup->abandoned = true;
    return EAI_AGAIN;
  }
  *found = lookup->found;
  return *lookup->status;
}

}  // namespace
}  // namespace dlock::mysql

extern "C" int __wrap_getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  dlock::mysql::Fiber* fiber = dlock::mysql::Fiber::current();
  if (fiber == nullptr || host == nullptr) return __real_getaddrinfo(host, service, hints, found);
  addrinfo numeric = hints != nullptr ? *hints : addrinfo{};
  numeric.ai_flags = (numeric.ai_flags & ~AI_ADDRCONFIG) | AI_NUMERICHOST;
  if (__real_getaddrinfo(host, service, &numeric, found) == 0) return 0;
  return dlock::mysql::look_up_from(*fiber, host, service, hints, found);
}

namespace dlock::mysql {

Fiber* Fiber::current() { return running_fiber; }

Fiber::Fiber() {
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  mprotect(memory, kGuard, PROT_NONE);
  stack_ = memory;
}

Fiber::~Fiber() {
  cancel();
  if (stack_ != nullptr) munmap(stack_, kStack);
}

/// makecontext(3) passes ints only.
void Fiber::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32) | low);
  self->body_();
  self->running_ = false;
}

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  running_ = true;
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_;
  inside_.uc_stack.ss_size = kStack;
  inside_.uc_link = &outside_;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
  switch_to();
}

void Fiber::switch_to() {
  Fiber* before = running_fiber;
  running_fiber = this;
  swapcontext(&outside_, &inside_);
  running_fiber = before;
}

void Fiber::resume() {
  std::vector<pollfd> fds = awaited_;
  if (cancelled_ || __real_poll(fds.data(), fds.size(), 0) > 0) switch_to();
}

void Fiber::add_interest(std::vector<pollfd>& fds) const {
  if (running_) fds.insert(fds.end(), awaited_.begin(), awaited_.end());
}

void Fiber::cancel() {
  cancelled_ = true;
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
  while (running_) switch_to();
}

int Fiber::wait(pollfd* fds, nfds_t count, int timeout_ms) {
  // Most answers take longer than nothing, but what is there already costs no switch.
  if (const int ready = __real_poll(fds, count, 0); ready != 0 || cancelled_ || timeout_ms == 0) return ready;
  awaited_.assign(fds, fds + count);
  // A connect that is not answered must end in time for the next address; the owner has a time for all else.
  const bool connecting = count == 1 && (fds[0].events & POLLOUT) != 0;
  if (connecting && timeout_ms > 0 && timeout_ms < kForEver) {
    timer_ = timer_of(timeout_ms);
    awaited_.push_back({timer_.get(), POLLIN, 0});
  }
  running_fiber = nullptr;
  swapcontext(&inside_, &outside_);
  timer_.reset();
  awaited_.clear();
  return __real_poll(fds, count, 0);
}

void Fiber::login_asked_for(const char* way, bool may) {
  ++logins_;
  refused_login_ = may ? "" : way;
}

bool Fiber::may_receive(std::size_t bytes) {
  if (logins_ > 1 && !refused_login_.empty()) return false;
  overrun_ = overrun_ || bytes > left_to_receive_;
  if (!overrun_) left_to_receive_ -= bytes;
  return !overrun_;
}

void Fiber::socket_opened(int fd) {
  socket_ = fd;
  if (cancelled_) shutdown(fd, SHUT_RDWR);
}

void Fiber::socket_closing(int fd) {
  if (socket_ == fd) socket_ = -1;
}

}  // namespace dlock::mysql
