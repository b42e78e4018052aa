// SPDX-License-Identifier: Apache-2.0
// The only file that knows toml++. Header only, without exceptions and without its stream functions: what would pull
// locales into every start of dlock. Nothing here runs when there is no configuration file.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "lib/config/config.h"
#include "lib/config/suggest.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

using Shape = ConfigKey::Shape;

const char* type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none:
      return "nothing";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a yes or no";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
  }
  return "something else";
}

const char* wanted(Shape shape) {
  switch (shape) {
    case Shape::kText:
      return "a text in quotes";
    case Shape::kFlag:
      return "true or false";
    case Shape::kNumber:
      return "a whole number";
    case Shape::kDuration:
      return "a duration such as \"30s\", or a number of seconds";
    case Shape::kList:
      return "a text in quotes, or a list of them: [\"...\", \"...\"]";
  }
  return "";
}

class ConfigReader {
 public:
  ConfigReader(const std::string& path, std::span<const ConfigKey> keys) : path_(path), keys_(keys) {}

  Result<std::vector<Setting>> read(const toml::table& file) {
    for (auto&& [key, node] : file) {
      const std::string_view name = key.str();
      Result<void> read;
      if (name == "default-backend") read = read_value("", key, node, Shape::kText);
      else if (name == "defaults") read = read_defaults(key, node);
      else if (name == "backend") read = read_backends(key, node);
      else read = unknown_at_top(key);
      if (!read) return read.error();
    }
    return std::move(settings_);
  }

 private:
  Error at(const toml::source_region& where, const std::string& what, std::string next) const {
    return {ErrorCode::kMisconfigured,
            path_ + ":" + std::to_string(where.begin.line) + ":" + std::to_string(where.begin.column) + ": " + what,
            std::move(next)};
  }

  Error unknown(const toml::key& key, const std::string& section, std::string_view nearest,
                std::string otherwise) const {
    return at(key.source(), "unknown key '" + std::string(key.str().substr(0, 64)) + "'" + section,
              did_you_mean(nearest, otherwise));
  }

  Result<void> unknown_at_top(const toml::key& key) const {
    const std::string_view name = key.str();
    const bool of_defaults =
        std::any_of(keys_.begin(), keys_.end(), [&](const ConfigKey& k) { return k.name == name; });
    if (of_defaults) return unknown(key, " at the top of the file", {}, "it belongs below the line [defaults]");
    Nearest nearest(name);
    for (const std::string_view one : {"default-backend", "defaults", "backend"}) nearest.offer(one);
    return unknown(key, " at the top of the file", nearest.best(),
                   "there are default-backend, [defaults] and [backend.NAME]");
  }

  Result<void> read_defaults(const toml::key& key, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return at(key.source(), "defaults is " + std::string(type_name(node)), "write [defaults]");
    for (auto&& [name, value] : *table) {
      const auto known =
          std::find_if(keys_.begin(), keys_.end(), [&](const ConfigKey& k) { return k.name == name.str(); });
      if (known == keys_.end()) {
        Nearest nearest(name.str());
        for (const ConfigKey& one : keys_) nearest.offer(one.name);
        return unknown(name, " in [defaults]", nearest.best(), "all keys: man 5 dlock.toml");
      }
      if (auto read = read_value("defaults", name, value, known->shape); !read) return read;
    }
    return {};
  }

  Result<void> read_backends(const toml::key& key, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return at(key.source(), "backend is " + std::string(type_name(node)), "write [backend.NAME]");
    for (auto&& [name, section] : *table) {
      if (name.str().empty() || name.str().find_first_of(":/@, \t\n") != std::string_view::npos) {
        return at(name.source(), "a backend cannot be called '" + std::string(name.str()) + "'",
                  "a name has letters, digits, - and _");
      }
      if (!section.is_table()) {
        return at(name.source(), "backend." + std::string(name.str()) + " is " + type_name(section),
                  "write [backend." + std::string(name.str()) + "] and url = \"...\" below it");
      }
      if (auto read = read_backend(std::string(name.str()), *section.as_table()); !read) return read;
    }
    return {};
  }

  Result<void> read_backend(const std::string& backend, const toml::table& table) {
    for (auto&& [name, value] : table) {
      const auto of_run = std::find_if(keys_.begin(), keys_.end(),
                                       [&](const ConfigKey& k) { return k.of_backend && k.name == name.str(); });
      const auto params = url_params();
      const bool param =
          std::any_of(params.begin(), params.end(), [&](const UrlParam& p) { return p.name == name.str(); });
      Result<void> read;
      if (name.str() == "url") read = read_value("backend." + backend, name, value, Shape::kText);
      else if (of_run != keys_.end()) read = read_value("backend." + backend, name, value, of_run->shape);
      else if (param) read = read_param("backend." + backend, name, value);
      else read = unknown_in_backend(backend, name);
      if (!read) return read;
    }
    return {};
  }

  Result<void> unknown_in_backend(const std::string& backend, const toml::key& name) const {
    Nearest nearest(name.str());
    nearest.offer("url");
    for (const UrlParam& param : url_params()) nearest.offer(param.name);
    for (const ConfigKey& one : keys_) {
      if (one.of_backend) nearest.offer(one.name);
    }
    if (name.str() == "password") return unknown(name, " in [backend." + backend + "]", "password-file", {});
    return unknown(name, " in [backend." + backend + "]", nearest.best(), "all keys: man 5 dlock.toml");
  }

  /// A query parameter of the backend's URL, written as a key of its section.
  Result<void> read_param(const std::string& section, const toml::key& key, const toml::node& node) {
    if (node.is_boolean()) return store(section, key, {*node.value<bool>() ? "1" : "0"});
    if (node.is_integer()) return store(section, key, {std::to_string(*node.value<std::int64_t>())});
    return read_value(section, key, node, Shape::kText);
  }

  Result<void> read_value(const std::string& section, const toml::key& key, const toml::node& node, Shape shape) {
    const bool text = node.is_string() && shape != Shape::kFlag && shape != Shape::kNumber;
    if (text) return store(section, key, {std::string(*node.value<std::string_view>())});
    if (shape == Shape::kFlag && node.is_boolean())
      return store(section, key, {*node.value<bool>() ? "true" : "false"});
    if ((shape == Shape::kNumber || shape == Shape::kDuration) && node.is_integer()) {
      return store(section, key, {std::to_string(*node.value<std::int64_t>())});
    }
    if (shape == Shape::kDuration && node.is_floating_point()) return read_seconds(section, key, *node.value<double>());
    if (shape == Shape::kList && node.is_array()) return read_list(section, key, *node.as_array());
    return at(node.source(), std::string(key.str()) + " is " + type_name(node),
              std::string("it takes ") + wanted(shape));
  }

  Result<void> read_seconds(const std::string& section, const toml::key& key, double seconds) {
    char digits[64];
    const auto done = std::to_chars(digits, digits + sizeof digits, seconds, std::chars_format::fixed);
    if (!std::isfinite(seconds) || done.ec != std::errc()) {
      return at(key.source(), std::string(key.str()) + " is not a number of seconds", "it takes \"30s\", or 30");
    }
    return store(section, key, {std::string(digits, done.ptr)});
  }

  Result<void> read_list(const std::string& section, const toml::key& key, const toml::array& array) {
    std::vector<std::string> values;
    for (const toml::node& node : array) {
      if (!node.is_string()) {
        return at(node.source(), std::string(key.str()) + " has " + type_name(node) + " in its list",
                  std::string("it takes ") + wanted(Shape::kList));
      }
      values.emplace_back(*node.value<std::string_view>());
    }
    return store(section, key, std::move(values));
  }

  Result<void> store(const std::string& section, const toml::key& key, std::vector<std::string> values) {
    const auto& where = key.source().begin;
    settings_.push_back(
        {section, std::string(key.str()), std::move(values),
         Origin{Origin::Layer::kFile, path_ + ":" + std::to_string(where.line), static_cast<int>(where.column)}});
    return {};
  }

  const std::string& path_;
  std::span<const ConfigKey> keys_;
  std::vector<Setting> settings_;
};

}  // namespace

Result<std::vector<Setting>> parse_config(std::string_view text, const std::string& path,
                                          std::span<const ConfigKey> keys) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const auto& where = error.source().begin;
    const std::string_view why = error.description();
    const bool unquoted = why.find("could not determine value type") != std::string_view::npos;
    return Error{ErrorCode::kMisconfigured,
                 path + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": " + std::string(why),
                 unquoted ? "put the value in quotes" : "the file is TOML: see man 5 dlock.toml"};
  }
  return ConfigReader(path, keys).read(parsed.table());
}

}  // namespace dlock
