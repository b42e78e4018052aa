// SPDX-License-Identifier: Apache-2.0
// What the keeper without TLS (lib/config/url_schemes.h: speaks_tls) has in the place of those files of the client
// library that stand on OpenSSL and zlib (libmariadb/secure/, ma_tls.h, ma_crypt.h: 3.3 and 3.4), which nobody asks for
// there. The linker takes a file from a library only for what nobody has defined yet; these definitions come first.
#include <mariadb/mysql.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "lib/base/sha1.h"

namespace {

constexpr unsigned kSha1 = 2;   ///< MA_HASH_SHA1, of which mysql_native_password is made
constexpr int kZlibError = -2;  ///< Z_STREAM_ERROR

}  // namespace

extern "C" {

char tls_library_version[64] = "none";

int ma_tls_start(char* error, std::size_t size) {
  std::snprintf(error, size, "a keeper without TLS was asked for TLS");
  return 1;
}
void ma_tls_end() {}
void* ma_tls_init(MYSQL* /*mysql*/) { return nullptr; }
my_bool ma_tls_connect(void* /*tls*/) { return 1; }
ssize_t ma_tls_read(void* /*tls*/, const unsigned char* /*to*/, std::size_t /*size*/) { return -1; }
ssize_t ma_tls_write(void* /*tls*/, const unsigned char* /*from*/, std::size_t /*size*/) { return -1; }
ssize_t ma_tls_read_async(void* /*pvio*/, const unsigned char* /*to*/, std::size_t /*size*/) { return -1; }
ssize_t ma_tls_write_async(void* /*pvio*/, const unsigned char* /*from*/, std::size_t /*size*/) { return -1; }
my_bool ma_tls_close(void* /*tls*/) { return 1; }
int ma_tls_verify_server_cert(void* /*tls*/, unsigned /*flags*/) { return 1; }
const char* ma_tls_get_cipher(void* /*tls*/) { return nullptr; }
unsigned ma_tls_get_finger_print(void* /*tls*/, unsigned /*hash*/, char* /*to*/, unsigned /*size*/) { return 0; }
int ma_tls_get_protocol_version(void* /*tls*/) { return -1; }
unsigned ma_tls_get_peer_cert_info(void* /*tls*/, unsigned /*size*/) { return 1; }
void ma_tls_set_connection(MYSQL* /*mysql*/) {}

// The older library hashes by itself.
void* ma_hash_new(unsigned algorithm) { return algorithm == kSha1 ? new dlock::Sha1 : nullptr; }
void ma_hash_free(void* hash) { delete static_cast<dlock::Sha1*>(hash); }
void ma_hash_input(void* hash, const unsigned char* bytes, std::size_t size) {
  if (hash) static_cast<dlock::Sha1*>(hash)->add({reinterpret_cast<const char*>(bytes), size});
}
void ma_hash_result(void* hash, unsigned char* digest) {
  if (!hash) return;
  const auto made = static_cast<dlock::Sha1*>(hash)->digest();
  std::copy(made.begin(), made.end(), digest);
}

int compress2(unsigned char* /*to*/, unsigned long* /*size*/, const unsigned char* /*from*/, unsigned long /*length*/,
              int /*level*/) {
  return kZlibError;
}
int uncompress(unsigned char* /*to*/, unsigned long* /*size*/, const unsigned char* /*from*/,
               unsigned long /*length*/) {
  return kZlibError;
}
unsigned long crc32(unsigned long /*crc*/, const unsigned char* /*from*/, unsigned /*length*/) { return 0; }
}
