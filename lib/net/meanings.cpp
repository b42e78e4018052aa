// SPDX-License-Identifier: Apache-2.0
#include "lib/net/meanings.h"

#include <algorithm>
#include <initializer_list>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr char kDoctor[] = "look at it with: dlock doctor";

bool has_code(std::string_view codes, std::string_view code) {
  while (!codes.empty()) {
    std::string_view one = cut(codes, ' ');
    const bool begins = one.ends_with('*');
    if (begins) one.remove_suffix(1);
    if (begins ? code.starts_with(one) : code == one) return true;
  }
  return false;
}

bool has_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// An alert of the server: by TLS 1.3 it judges our certificate when the handshake is over for us.
bool refuses_ours(std::string_view text) {
  return has_one_of(text, {"alert"}) && has_one_of(text, {"certificate", "unknown ca", "access denied"});
}

/// The words of OpenSSL, and of the system for its numbers. The server ends by itself what it calls an internal error.
bool is_broken_line(std::string_view text) {
  return has_one_of(text, {"eof", "EOF", "reset", "timed out", "Broken pipe", "temporarily unavailable", "in progress",
                           "unreachable", "not connected", "shutdown", "bad record mac", "internal error"});
}

}  // namespace

const Meaning* find_meaning(std::span<const Meaning> table, std::string_view code) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Meaning& one) { return has_code(one.codes, code); });
  return found == table.end() ? nullptr : &*found;
}

Error error_of(const Meaning& meaning, const std::string& server, const std::string& words) {
  std::string text = meaning.said + words;
  return {meaning.code, text.replace(text.find('%'), 1, server), meaning.next};
}

Error error_without_meaning(bool cut_off, const std::string& server, const std::string& words) {
  if (cut_off) return {ErrorCode::kUnavailable, "cannot reach " + server + ": " + words, kDoctor};
  return {ErrorCode::kMisconfigured, server + " refused: " + words, kDoctor};
}

Error refused_certificate(const std::string& server, const std::string& said) {
  return {ErrorCode::kDenied, server + " refused our certificate: " + said,
          "cert-file and key-file must name one that it trusts"};
}

Error error_of_tls(std::string_view text, const std::string& server, const std::string& said, const char* theirs) {
  if (refuses_ours(text)) return refused_certificate(server, said);
  const std::string what = "no secure connection to " + server + ": " + said;
  const bool of_file = has_one_of(text, {"private key", "certificate file"});
  if (!of_file && has_one_of(text, {"certificate", "not support", "no TLS"}))
    return {ErrorCode::kMisconfigured, what, theirs};
  if (!of_file && is_broken_line(text)) return {ErrorCode::kUnavailable, what, kDoctor};
  return {ErrorCode::kMisconfigured, what,
          "cert-file and key-file must be one certificate and its key, without a passphrase and for its owner alone; "
          "ca-file, the CA of the server"};
}

}  // namespace dlock
