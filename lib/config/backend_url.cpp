// SPDX-License-Identifier: Apache-2.0
#include "lib/config/backend_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/text.h"
#include "lib/config/suggest.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// A malformed URL is never quoted as a whole: the part that is wrong may be a piece of a password that was not
/// escaped.
Error malformed(const UrlScheme& scheme, std::string why) {
  const std::string name(scheme.name);
  std::string next;
  switch (scheme.shape) {
    case UrlShape::kDirectory:
      next = "write " + name + ":, " + name + ":/directory or " + name + ":" +
             std::string(table_of(scheme).directories.word);
      break;
    case UrlShape::kSocket:
      next = "write " + name + ":///path/to/socket";
      break;
    case UrlShape::kOneHost:
      next = "write " + name + "://[user[:password]@]host[:port][/database]";
      break;
    case UrlShape::kHosts:
      next = "write " + name + "://[user[:password]@]host1[:port],host2[:port]";
      if (scheme.path == UrlPath::kMaster) next += "/MASTER[/db]";
      if (scheme.path == UrlPath::kDatabaseName) next += "/DB";
      break;
  }
  if (scheme.shape != UrlShape::kDirectory) next += "; in a password write % / ? @ as %25 %2F %3F %40";
  return {ErrorCode::kInvalid, "malformed " + name + " URL: " + std::move(why), std::move(next)};
}

Result<std::string> percent_decode(const UrlScheme& scheme, std::string_view text) {
  auto plain = percent_unescaped(text);
  if (!plain) return malformed(scheme, "a % is not followed by two hex digits");
  if (std::any_of(plain->begin(), plain->end(), is_control))
    return malformed(scheme, "it contains a control character");
  return std::move(*plain);
}

void percent_encode(std::string& out, std::string_view text, std::string_view plain) {
  out += percent_escaped(text, [plain](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           plain.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

class UrlReader {
 public:
  UrlReader(const UrlScheme& scheme, BackendUrl& url) : scheme_(scheme), url_(url) {}

  Result<void> read(std::string_view rest) {
    if (scheme_.shape == UrlShape::kDirectory) return read_directory(rest);
    if (!rest.starts_with("//")) return malformed(scheme_, "'//' is missing after '" + url_.scheme + ":'");
    rest.remove_prefix(2);
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    if (auto read = read_authority(rest.substr(0, end)); !read) return read;
    rest.remove_prefix(end);
    std::string_view path = cut(rest, '?');
    if (auto read = read_path(path); !read) return read;
    return read_query(rest);
  }

 private:
  Result<void> read_directory(std::string_view rest) {
    std::string_view path = cut(rest, '?');
    if (path.starts_with("//")) path.remove_prefix(2);
    const UrlDirectories& known = table_of(scheme_).directories;
    if (!known.word.empty() && path == known.word) path = known.directory;
    if (!path.empty() && path.front() != '/') return malformed(scheme_, "the directory is not an absolute path");
    TRY_ASSIGN(auto decoded, percent_decode(scheme_, path));
    // One slash more would read as the beginning of a host when the URL is written out.
    while (decoded.starts_with("//")) decoded.erase(0, 1);
    url_.path = std::move(decoded);
    return read_query(rest);
  }

  Result<void> read_authority(std::string_view text) {
    const std::size_t at = text.rfind('@');
    if (at != std::string_view::npos) {
      if (auto one = check_user_part(text.substr(0, at)); !one) return one;
      std::string_view password = text.substr(0, at);
      TRY_ASSIGN(auto user, percent_decode(scheme_, cut(password, ':')));
      TRY_ASSIGN(auto secret, percent_decode(scheme_, password));
      url_.user = std::move(user);
      url_.password = std::move(secret);
      text.remove_prefix(at + 1);
    }
    if (scheme_.shape == UrlShape::kSocket) {
      return text.empty() ? Result<void>() : malformed(scheme_, "a Unix socket has no host");
    }
    if (text.empty()) return Result<void>();  // whether a host may be missing depends on the query
    while (true) {
      const bool last = text.find(',') == std::string_view::npos;
      if (auto read = read_host(cut(text, ',')); !read) return read;
      if (last) return {};
    }
  }

  /// The part before the last @. A raw @ or comma in it is a second user or a host, which would be lost.
  Result<void> check_user_part(std::string_view text) const {
    const bool hosts = scheme_.shape == UrlShape::kHosts;
    if (text.find('@') != std::string_view::npos) return one_login("it has more than one @");
    if (hosts && text.find(',') != std::string_view::npos) return one_login("a comma comes before the @");
    return {};
  }

  Error one_login(std::string why) const {
    const bool hosts = scheme_.shape == UrlShape::kHosts;
    Error error = malformed(scheme_, std::move(why));
    error.next = std::string("user and password come once, before ") + (hosts ? "all hosts: " : "the host: ") +
                 url_.scheme + "://user:password@" + (hosts ? "h1,h2,h3" : "host") +
                 "; in them write @ and , as %40 and %2C";
    return error;
  }

  Result<void> read_host(std::string_view text) {
    BackendUrl::Host host;
    if (text.starts_with('[')) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return malformed(scheme_, "an IPv6 address is not closed by ]");
      host.name = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      unsigned char address[16];
      if (inet_pton(AF_INET6, host.name.c_str(), address) != 1) return malformed(scheme_, "not an IPv6 address in [ ]");
    } else if (std::count(text.begin(), text.end(), ':') > 1) {
      return malformed(scheme_, "an IPv6 address needs [ ]: [::1], [::1]:" + std::to_string(scheme_.port));
    } else {
      host.name = text.substr(0, text.find(':'));
      text.remove_prefix(host.name.size());
      if (host.name.empty()) return malformed(scheme_, "a host is empty");
      for (char& c : host.name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        else if (!letter) return malformed(scheme_, "a host name has letters, digits, - and . only");
      }
    }
    if (!text.empty()) {
      if (text.front() != ':') return malformed(scheme_, "a host is followed by neither a port nor a comma");
      text.remove_prefix(1);
      host.port = whole_number<std::uint16_t>(text).value_or(0);
      if (host.port == 0) return malformed(scheme_, "a port is a number from 1 to 65535");
    }
    const auto port = [&](const BackendUrl::Host& one) { return one.port == 0 ? scheme_.port : one.port; };
    const bool again = std::any_of(url_.hosts.begin(), url_.hosts.end(), [&](const BackendUrl::Host& other) {
      return other.name == host.name && port(other) == port(host);
    });
    if (again) return malformed(scheme_, "the same host is given twice");
    url_.hosts.push_back(std::move(host));
    return {};
  }

  Result<void> read_path(std::string_view text) {
    TRY_ASSIGN(auto decoded, percent_decode(scheme_, text));
    url_.path = std::move(decoded);
    if (url_.path == "/" && scheme_.shape != UrlShape::kSocket) url_.path.clear();
    return {};
  }

  Result<void> read_query(std::string_view text) {
    while (!text.empty()) {
      std::string_view value = cut(text, '&');
      if (value.empty()) continue;
      const bool bare = value.find('=') == std::string_view::npos;
      TRY_ASSIGN(auto name, percent_decode(scheme_, cut(value, '=')));
      TRY_ASSIGN(auto decoded, percent_decode(scheme_, bare ? "1" : value));
      TRY_ASSIGN(auto known, check_url_param(scheme_, name, decoded));
      if (!url_.params.emplace(known, std::move(decoded)).second) {
        return malformed(scheme_, "the parameter " + std::string(known) + " is given twice");
      }
    }
    return check_whole();
  }

  /// Faults that show only when everything has been read.
  Result<void> check_whole() {
    const bool by_socket = url_.params.count("socket") != 0;
    const bool needs_host = scheme_.shape == UrlShape::kOneHost || scheme_.shape == UrlShape::kHosts;
    if (needs_host && url_.hosts.empty() && !by_socket) return malformed(scheme_, "the host is missing");
    if (scheme_.shape == UrlShape::kOneHost && url_.hosts.size() > 1) return several_hosts();
    if (scheme_.shape == UrlShape::kHosts && !by_socket && url_.hosts.size() < scheme_.least_hosts) return one_host();
    return check_path();
  }

  Error several_hosts() const {
    return {ErrorCode::kInvalid, "a " + url_.scheme + " URL names one host, this one has several",
            std::string(table_of(scheme_).several_hosts)};
  }

  Error one_host() const {
    return {ErrorCode::kInvalid, "a " + url_.scheme + " URL names several servers, of which a majority decides",
            "one server is redis://; three are " + url_.scheme + "://h1,h2,h3"};
  }

  Result<void> check_path() const {
    const std::string& path = url_.path;
    if (scheme_.shape == UrlShape::kDirectory) return {};
    if (scheme_.shape == UrlShape::kSocket) {
      return path.size() > 1 ? Result<void>() : malformed(scheme_, "the path of the socket is missing");
    }
    switch (scheme_.path) {
      case UrlPath::kNone:
        return path.empty() ? Result<void>() : malformed(scheme_, "it takes no database");
      case UrlPath::kDatabaseNumber:
        return check_number(path);
      case UrlPath::kMaster: {
        const std::size_t slash = path.find('/', 1);
        if (path.size() < 2 || slash == 1) return malformed(scheme_, "the name of the master is missing");
        return slash == std::string::npos ? Result<void>() : check_number(path.substr(slash));
      }
      case UrlPath::kAnywhere:
        if (path.find("//") != std::string::npos || path.ends_with('/')) {
          return malformed(scheme_, "the path has an empty part");
        }
        return {};
      case UrlPath::kDatabaseName:
        if (path.size() < 2) return malformed(scheme_, "the database is missing: /NAME after the host");
        if (path.find('/', 1) != std::string::npos) return malformed(scheme_, "a database name has no /");
        return {};
    }
    return {};
  }

  Result<void> check_number(std::string_view path) const {
    if (path.empty()) return {};
    path.remove_prefix(1);
    const bool digits = std::all_of(path.begin(), path.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || path.empty() || path.size() > 5) return malformed(scheme_, "the database is a number such as /0");
    return {};
  }

  const UrlScheme& scheme_;
  BackendUrl& url_;
};

template <typename Use>
void for_each_scheme(Use use) {
  for (const UrlTable& table : url_tables()) {
    for (const UrlScheme& scheme : table.schemes) use(scheme);
  }
}

/// "there are local:, redis:// and mysql://"
std::string all_usual() {
  std::string text;
  const auto tables = url_tables();
  for (const UrlTable& table : tables) {
    const bool last = &table == &tables.back();
    text.append(text.empty() ? "the stores are " : last ? " and " : ", ").append(table.usual);
  }
  return text;
}

/// "redis://host:6379" of "host:6379"; empty if `text` has another form, or may hold a secret.
std::string with_scheme(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/[]";
  const std::string_view host = text.substr(0, text.rfind(':'));
  const bool has_port = host.size() < text.size();
  if (!has_port && text.find('.') == std::string_view::npos) return {};
  if (host.empty() || text.size() > 80 || text.find_first_not_of(kPlain) != std::string_view::npos) return {};
  const auto port = has_port ? text.substr(host.size() + 1) : std::string_view("0");
  if (port.empty() || port.find_first_not_of("0123456789/") != std::string_view::npos) return {};
  std::string likely;
  std::string possible;
  for_each_scheme([&](const UrlScheme& one) {
    std::string& url = port == std::to_string(one.port) ? likely : possible;
    const std::string with = std::string(one.name) + "://" + std::string(text);
    if (one.port != 0 && url.empty() && BackendUrl::parse(with)) url = with;
  });
  return likely.empty() ? possible : likely;
}

/// Schemes of other programs, and what stands for them here; empty: dlock has no such store.
constexpr std::pair<std::string_view, std::string_view> kSchemesOfOthers[] = {
    {"mariadb", "mysql"},
    {"postgresql", "postgres"},
    {"zookeeper", "zk"},
    {"valkey", "redis"},
    {"valkeys", "rediss"},
    {"sentinel", "redis+sentinel"},
    {"file", "local"},
    {"etcd", ""},
    {"consul", ""},
    {"memcached", ""},
    {"mongodb", ""},
    {"dynamodb", ""},
    {"s3", ""},
    {"http", ""},
    {"https", ""},
};

/// The meaning of `word`, which comes before the first colon; nullopt if it is not known.
std::optional<std::string> instead_of_scheme(std::string_view word, bool slashes) {
  for (const auto& [theirs, ours] : kSchemesOfOthers) {
    if (theirs != word || !slashes) continue;
    if (ours.empty()) return "dlock has no such store; " + all_usual();
    return "did you mean '" + std::string(ours) + (ours == "local" ? ":'?" : "://...'?");
  }
  Nearest nearest(word);
  for_each_scheme([&](const UrlScheme& scheme) { nearest.offer(scheme.name); });
  const std::string_view best = nearest.best();
  if (best.empty()) return std::nullopt;
  return "did you mean '" + std::string(best) + (best == "local" ? ":'?" : "://...'?");
}

Error no_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  // Only a word that can be a scheme is quoted: anything else may be a piece of a secret.
  const bool quotable = word.size() <= 32 && word.find_first_of("@/?") == std::string_view::npos;
  std::string message = quotable ? "'" + std::string(word) + "' is not a backend" : std::string("not a backend");
  if (colon == std::string_view::npos) message += " URL: it has no scheme";
  else if (!quotable) message += " URL";
  if (text.starts_with('/') && text.size() <= 80 && text.find_first_of("@:?") == std::string_view::npos) {
    return {ErrorCode::kInvalid, std::move(message), did_you_mean("local:" + std::string(text))};
  }
  const bool slashes = colon != std::string_view::npos && text.substr(colon).starts_with("://");
  if (auto meant = instead_of_scheme(word, slashes))
    return {ErrorCode::kInvalid, std::move(message), std::move(*meant)};
  const std::string url = with_scheme(text);
  return {ErrorCode::kInvalid, std::move(message), url.empty() ? all_usual() : did_you_mean(url)};
}

}  // namespace

Result<BackendUrl> BackendUrl::parse(std::string_view text) {
  if (text.empty()) return Error{ErrorCode::kInvalid, "the backend URL is empty", "leave it out for local:"};
  const std::size_t colon = text.find(':');
  const UrlScheme* scheme = colon == std::string_view::npos ? nullptr : find_url_scheme(text.substr(0, colon));
  if (scheme == nullptr) return no_scheme(text);
  if (std::any_of(text.begin(), text.end(), is_control)) return malformed(*scheme, "it contains a control character");
  BackendUrl url;
  url.family = table_of(*scheme).family;
  url.scheme = scheme->name;
  TRY(UrlReader(*scheme, url).read(text.substr(colon + 1)));
  TRY(check_url_params_together(*scheme, url.params));
  return url;
}

std::string BackendUrl::redacted() const {
  std::string text = scheme + ":";
  const UrlScheme* known = find_url_scheme(scheme);
  if (!(is_local() || (known && known->shape == UrlShape::kDirectory))) {
    text += "//";
    percent_encode(text, user, "-._~");
    if (!password.empty()) text += ":***";
    if (!user.empty() || !password.empty()) text += "@";
    bool first = true;
    for (const Host& host : hosts) {
      if (!std::exchange(first, false)) text += ",";
      text += host.name.find(':') == std::string::npos ? host.name : "[" + host.name + "]";
      if (host.port != 0 && !(known && known->port == host.port)) text += ":" + std::to_string(host.port);
    }
  }
  percent_encode(text, path, "-._~/:");
  const auto usual = known ? table_of(*known).directories.usual : nullptr;
  if (usual != nullptr && path.empty()) {
    if (const auto directory = usual()) percent_encode(text, *directory, "-._~/:");
  }
  char separator = '?';
  for (const auto& [name, value] : params) {
    text += std::exchange(separator, '&') + name + "=";
    percent_encode(text, value, "-._~/:,=");
  }
  return text;
}

std::string BackendUrl::param(const char* name) const {
  const auto found = params.find(name);
  return found == params.end() ? std::string() : found->second;
}

}  // namespace dlock
