// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/redis/tls/tls_module.h"
#include "backends/redis/wire/socket_stream.h"
#include "lib/base/human_text.h"
#include "lib/base/process.h"
#include "lib/base/result.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock::redis {
namespace {

constexpr const char* kInstall = "install it with: apt install --reinstall dlock-redis";

/// By what dlerror(3) ends with: what errno was, but for memory.
bool lacks_means(const std::string& why) {
  return why.ends_with("failed to map segment from shared object") || why.ends_with(errno_text(ENOMEM)) ||
         why.ends_with(errno_text(EMFILE)) || why.ends_with(errno_text(ENFILE));
}

Error not_loaded(const std::string& path) {
  const char* text = dlerror();
  const std::string why = text != nullptr ? text : "no reason is known";
  const std::string message =
      "TLS cannot be used: " + (why.starts_with(path) ? why : path + " cannot be loaded: " + why);
  if (lacks_means(why)) return {ErrorCode::kSystem, message, "allow more: ulimit -v, ulimit -n"};
  return {ErrorCode::kUnsupported, message,
          "install it again with the libraries that it needs: apt install --reinstall dlock-redis"};
}

Result<const DlockTls*> load() {
  const std::string path = own_folder() + "/dlock-tls.so";
  if (getauxval(AT_SECURE) != 0) {
    return Error{
        ErrorCode::kUnsupported,
        "TLS cannot be used: a program with raised privileges (setuid, file capabilities) does not load " + path,
        "take the privileges from dlock-redis, and run dlock as the user who has the rights"};
  }
  if (const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC)); !file.valid()) {
    if (errno != ENOENT) return system_error("TLS cannot be used: cannot read " + path, errno);
    return Error{ErrorCode::kUnsupported, "TLS is not installed: there is no " + path, kInstall};
  }
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return not_loaded(path);
  if (const void* table = dlsym(module, kDlockTlsSymbol)) return static_cast<const DlockTls*>(table);
  Error stranger = not_loaded(path);
  dlclose(module);
  return stranger;
}

/// The module for TLS, dlock-tls.so in the folder of this program, loaded on the first call and for good. No other
/// place is searched. Unsupported if it is missing, cannot be loaded or is of another dlock, and in a program that runs
/// with raised privileges (its folder may be the caller's choice: a hard link); System if the system lacks the means.
/// Each names the file and the package that has it. A failed call can be repeated.
Result<const DlockTls*> load_tls() {
  static const DlockTls* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  auto now = load();
  if (now) loaded = *now;
  return now;
}

struct CloseSession {
  const DlockTls* tls;
  void operator()(DlockTlsSession* session) const { tls->close(session); }
};
using Session = std::unique_ptr<DlockTlsSession, CloseSession>;

Error bad_file(const char* what, const std::string& path, const char* reason) {
  // OpenSSL has one error for a file that is missing and one that may not be read.
  const int errnum = access(path.c_str(), R_OK) == 0 ? 0 : errno;
  return {errnum == EACCES ? ErrorCode::kDenied : ErrorCode::kMisconfigured,
          std::string("the ") + what + " " + path +
              " cannot be used: " + (errnum == 0 ? std::string(reason) : errno_text(errnum))};
}

Error not_opened(const DlockTlsFailure& failure, const TlsSettings& settings, const std::string& name) {
  switch (failure.problem) {
    case kDlockTlsCaFile:
      return bad_file("ca-file", settings.ca_file, failure.reason);
    case kDlockTlsCertFile:
      return bad_file("cert-file", settings.cert_file, failure.reason);
    case kDlockTlsKeyFile:
      return bad_file("key-file", settings.key_file, failure.reason);
    case kDlockTlsName:
      return {ErrorCode::kMisconfigured, "'" + printable(name) + "' is not a name that a certificate can be for",
              "set server-name"};
    default:
      return {ErrorCode::kSystem, std::string("TLS cannot be used: ") + failure.reason};
  }
}

/// The certificate of the server, whose authority is not known here.
Error untrusted(const std::string& why, const std::string& ca_file) {
  if (ca_file.empty()) {
    return {ErrorCode::kMisconfigured, "the server's certificate is refused: " + why,
            "name the authority that signed it with ca-file"};
  }
  return {ErrorCode::kMisconfigured, "the server's certificate is refused: " + why,
          "the authority in " + ca_file + " has not signed it: ca-file must name the one that has"};
}

Error refused_by_server(const std::string& why, bool has_certificate) {
  if (!has_certificate) {
    return {ErrorCode::kDenied, "the server wants a client certificate: " + why,
            "name one that it trusts with cert-file and key-file"};
  }
  return {ErrorCode::kDenied, "the server refused our certificate: " + why,
          "cert-file and key-file must name one that it trusts"};
}

Error broken(const DlockTlsFailure& failure, const std::string& name, const TlsSettings& settings) {
  const std::string why = failure.reason;
  switch (failure.problem) {
    case kDlockTlsSocket:
      return socket_failure(failure.errnum);
    case kDlockTlsClosed:
      return closed_by_server();
    case kDlockTlsWrongName:
      return {ErrorCode::kMisconfigured, "the server's certificate is not for " + name,
              "use a name that it is for, or set server-name"};
    case kDlockTlsOutOfDate:
      return {ErrorCode::kMisconfigured, "the server's certificate is refused: " + why,
              "renew it on the server, or set this machine's clock"};
    case kDlockTlsUntrusted:
      return untrusted(why, settings.ca_file);
    case kDlockTlsNoTls:
      return speaks_no_tls();
    case kDlockTlsOurCertificate:
      return refused_by_server(why, !settings.cert_file.empty());
    case kDlockTlsRefused:
      return {ErrorCode::kDenied, "the server refused the TLS handshake: " + why,
              "it may want a client certificate: cert-file and key-file"};
    default:
      return {ErrorCode::kUnavailable, "TLS: " + why};
  }
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> carrier, Session session, std::string name, const TlsSettings& settings)
      : carrier_(std::move(carrier)), session_(std::move(session)), name_(std::move(name)), settings_(settings) {}

  int fd() const override { return carrier_->fd(); }

  short events(bool writing) const override {
    if (!carried_) return carrier_->events(false);
    return carrier_->events((shaken_ && writing) || tls().wants_write(session_.get()) != 0);
  }

  Result<bool> handshake() override {
    if (shaken_) return true;
    if (!carried_) {
      auto ready = carrier_->handshake();
      if (!ready || !*ready) return ready;
      carried_ = true;
    }
    DlockTlsFailure failure{};
    const int status = tls().handshake(session_.get(), carrier_->fd(), &failure);
    if (status < 0) return broken(failure, name_, settings_);
    shaken_ = status == 1;
    return shaken_;
  }

  Result<std::size_t> write(std::string_view bytes) override {
    DlockTlsFailure failure{};
    return moved(tls().write(session_.get(), bytes.data(), bytes.size(), &failure), failure);
  }

  Result<std::size_t> read(std::span<char> into) override {
    DlockTlsFailure failure{};
    return moved(tls().read(session_.get(), into.data(), into.size(), &failure), failure);
  }

  bool judges_us() const override { return carried_ && tls().judges_us(session_.get()) != 0; }

 private:
  const DlockTls& tls() const { return *session_.get_deleter().tls; }

  Result<std::size_t> moved(long count, const DlockTlsFailure& failure) const {
    if (count < 0) return broken(failure, name_, settings_);
    return static_cast<std::size_t>(count);
  }

  std::unique_ptr<ByteStream> carrier_;  ///< connects; after that its socket is the session's
  Session session_;
  std::string name_;
  const TlsSettings settings_;
  bool carried_ = false;
  bool shaken_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> carrier, const TlsSettings& settings,
                                              const std::string& host) {
  TRY_ASSIGN(const auto tls, load_tls());
  const std::string name = settings.server_name.empty() ? host.substr(0, host.find('%')) : settings.server_name;
  const DlockTlsSettings wanted{settings.ca_file.c_str(), settings.cert_file.c_str(), settings.key_file.c_str(),
                                name.c_str()};
  DlockTlsFailure failure{};
  Session session(tls->open(&wanted, &failure), {tls});
  if (!session) return not_opened(failure, settings, name);
  return std::unique_ptr<ByteStream>(
      std::make_unique<TlsStream>(std::move(carrier), std::move(session), name, settings));
}

}  // namespace dlock::redis
