// SPDX-License-Identifier: Apache-2.0
#include "lib/config/url_schemes.h"

#include <algorithm>
#include <initializer_list>

#include "lib/base/text.h"
#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr UrlParam kServerParams[] = {
    {"password-file", "<file>", kServerUrl, ""}, {"ca-file", "<file>", kTlsUrl, ""},
    {"cert-file", "<file>", kTlsUrl, ""},        {"key-file", "<file>", kTlsUrl, ""},
    {"server-name", "<text>", kTlsUrl, ""},
};

/// Calls `use` with each parameter of the scheme until it says true.
template <typename Use>
bool any_param(const UrlScheme& scheme, Use use) {
  for (const std::span<const UrlParam> params : {std::span<const UrlParam>(kServerParams), table_of(scheme).params}) {
    for (const UrlParam& param : params) {
      if ((param.topic & scheme.topics) != 0 && use(param)) return true;
    }
  }
  return false;
}

/// Calls `use` with each alternative of "a|b|<number>" until it says true.
template <typename Use>
bool any_alternative(std::string_view values, Use use) {
  while (!values.empty()) {
    if (use(cut(values, '|'))) return true;
  }
  return false;
}

bool is_number(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() <= 9;
}

/// Of a table or a column, without quotes.
bool is_table_name(std::string_view text) {
  return text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
                  c >= 0x80;
         });
}

bool value_fits(std::string_view alternative, std::string_view value) {
  if (alternative == "<text>") return !value.empty();
  if (alternative == "<name>") return !value.empty() && is_table_name(value);
  if (alternative == "<file>") return value.starts_with('/');
  if (alternative == "<number>") return is_number(value);
  if (alternative == "<bool>") return value == "0" || value == "1";
  return alternative == value;
}

/// Where one may write '-' for '_' and the other way round.
bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x == '_' ? '-' : x) == (y == '_' ? '-' : y); });
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view one) { return same_name(one, word); });
}

/// The scheme of the same store for which `fits`, the nearest in name; nullptr if there is none.
template <typename Fits>
const UrlScheme* nearest_sibling(const UrlScheme& scheme, Fits fits) {
  const UrlScheme* best = nullptr;
  const auto distance = [&](const UrlScheme& one) { return edit_distance(one.name, scheme.name); };
  for (const UrlScheme& one : table_of(scheme).schemes) {
    if (fits(one) && (best == nullptr || distance(one) < distance(*best))) best = &one;
  }
  return best;
}

/// Advice for "tls=true", which other clients have.
std::string way_to_tls(const UrlScheme& scheme) {
  const auto speaks_tls = [](const UrlScheme& one) { return (one.topics & kTlsUrl) != 0; };
  const std::string name(scheme.name);
  if (!speaks_tls(scheme)) {
    const UrlScheme* tls = nearest_sibling(scheme, speaks_tls);
    return tls == nullptr ? name + ":// has no TLS" : "TLS is " + std::string(tls->name) + "://";
  }
  const bool always = nearest_sibling(scheme, [&](const UrlScheme& one) { return !speaks_tls(one); }) != nullptr;
  return always ? "leave it out: " + name + ":// is TLS"
                : "add ca-file=/PATH, the authority that signed the server's certificate: that turns TLS on";
}

/// How stocks deducted once; each step has one way now.
constexpr std::string_view kOneWay =
    "leave it out: a take is one guarded step in every store (dlock-stock(1), WAYS TO DEDUCT)";

/// Our name of another client's parameter; empty if there is none.
std::string param_of_others(const UrlScheme& scheme, std::string_view name) {
  if (is_one_of(name, {"tls", "ssl", "ssl-mode", "sslmode", "use-ssl", "ssl-cert-reqs"})) return way_to_tls(scheme);
  if (is_one_of(name, {"password", "pass", "pwd"})) return did_you_mean("password-file");
  if ((scheme.topics & kTlsUrl) == 0) return {};
  if (is_one_of(name, {"ssl-ca", "ssl-ca-certs", "cacert", "ca"})) return did_you_mean("ca-file");
  if (is_one_of(name, {"ssl-cert", "ssl-certfile", "cert"})) return did_you_mean("cert-file");
  return is_one_of(name, {"ssl-key", "ssl-keyfile", "key"}) ? did_you_mean("key-file") : std::string();
}

Error unknown_param(const UrlScheme& scheme, std::string_view name) {
  Nearest nearest(name);
  std::string all;
  any_param(scheme, [&](const UrlParam& param) {
    nearest.offer(param.name);
    all.append(all.empty() ? "it has: " : ", ").append(param.name);
    return false;
  });
  const auto has_it = [&](const UrlScheme& one) { return find_url_param(one, name) != nullptr; };
  if (is_one_of(name, {"stock", "stock_slots"})) {
    all = kOneWay;
  } else if (const UrlScheme* other = nearest_sibling(scheme, has_it)) {
    all = "it belongs to " + std::string(other->name) + ":// URLs";
  } else if (std::string known = param_of_others(scheme, name); !known.empty()) {
    all = std::move(known);
  } else {
    all = did_you_mean(nearest.best(), all);
  }
  return {ErrorCode::kMisconfigured,
          "a " + std::string(scheme.name) + " URL has no parameter '" + std::string(utf8_prefix(name, 64)) + "'",
          std::move(all)};
}

Error bad_value(const UrlParam& param, std::string_view value) {
  Nearest nearest(value);
  any_alternative(param.values, [&](std::string_view one) {
    if (one.front() != '<') nearest.offer(one);
    return false;
  });
  const bool file = param.values == "<file>";
  return {ErrorCode::kMisconfigured,
          "the URL parameter " + std::string(param.name) + " cannot be '" + std::string(utf8_prefix(value, 64)) + "'",
          did_you_mean(nearest.best(), file ? "it takes an absolute path" : "it takes " + std::string(param.values))};
}

}  // namespace

void for_each_url_param(const std::function<void(std::string_view name)>& use) {
  for (const UrlParam& param : kServerParams) use(param.name);
  for (const UrlTable& table : url_tables()) {
    for (const UrlParam& param : table.params) use(param.name);
  }
}

const UrlTable& table_of(const UrlScheme& scheme) {
  const auto tables = url_tables();
  return *std::find_if(tables.begin(), tables.end(), [&](const UrlTable& table) {
    return std::any_of(table.schemes.begin(), table.schemes.end(),
                       [&](const UrlScheme& one) { return &one == &scheme; });
  });
}

const UrlScheme* find_url_scheme(std::string_view name) {
  for (const UrlTable& table : url_tables()) {
    for (const UrlScheme& scheme : table.schemes) {
      if (scheme.name == name) return &scheme;
    }
  }
  return nullptr;
}

const UrlParam* find_url_param(const UrlScheme& scheme, std::string_view name) {
  const UrlParam* found = nullptr;
  any_param(scheme, [&](const UrlParam& param) {
    if (same_name(param.name, name)) found = &param;
    return found != nullptr;
  });
  return found;
}

Result<std::string_view> check_url_param(const UrlScheme& scheme, std::string_view name, std::string_view value) {
  const UrlParam* param = find_url_param(scheme, name);
  if (param == nullptr) return unknown_param(scheme, name);
  const bool fits = any_alternative(param->values, [&](std::string_view one) { return value_fits(one, value); });
  if (!fits) return bad_value(*param, value);
  return param->name;
}

Result<void> check_url_params_together(const UrlScheme& scheme, const std::map<std::string, std::string>& params) {
  for (const auto& [name, value] : params) {
    const UrlParam* param = find_url_param(scheme, name);
    for (std::string_view rest = param == nullptr ? "" : param->needs; !rest.empty();) {
      std::string_view values = cut(rest, '&');
      const std::string needs(values);
      const auto other = params.find(std::string(cut(values, '=')));
      const auto fits = [&](std::string_view one) { return other->second == one; };
      if (other != params.end() && (values.empty() || any_alternative(values, fits))) continue;
      return Error{ErrorCode::kMisconfigured, "the URL parameter " + name + " means nothing without " + needs,
                   "add " + needs + ", or leave " + name + " out"};
    }
  }
  return {};
}

}  // namespace dlock
