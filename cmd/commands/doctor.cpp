// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <algorithm>
#include <cstdio>

#include "cmd/show/exit_status.h"
#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

using Verdict = Finding::Verdict;

/// A share of the lease that one round trip may take before renewals become a matter of luck.
constexpr int kRoundTripsInALease = 50;

const char* verdict_name(Verdict verdict) {
  return verdict == Verdict::kOk ? "ok" : verdict == Verdict::kWarn ? "warn" : "fail";
}

Paint verdict_paint(Verdict verdict) {
  return verdict == Verdict::kOk ? Paint::kGreen : verdict == Verdict::kWarn ? Paint::kYellow : Paint::kRed;
}

/// Unreachable hides everything else, and refused hides what is not fit.
constexpr ErrorCode kWorstFirst[] = {ErrorCode::kUnavailable, ErrorCode::kDenied};

std::string finding_text(const Finding& finding, bool colour) {
  const std::string name = verdict_name(finding.verdict);
  std::string text = "  " + painted(name, verdict_paint(finding.verdict), colour) + std::string(6 - name.size(), ' ') +
                     printable(finding.what) + '\n';
  if (!finding.remedy.empty()) text += "        " + printable(finding.remedy) + '\n';
  return text;
}

/// Values that may be URLs are shown as the parser understands them, without their password; one that it does not
/// understand is not shown if it could hold one.
std::string shown_value(const std::string& value) {
  if (value.find(':') == std::string::npos) return value;
  if (const auto url = BackendUrl::parse(value)) return url->redacted();
  return value.find('@') == std::string::npos ? value : "***";
}

std::string shown_values(const Setting& setting) {
  std::string text;
  for (const std::string& value : setting.values) text += (text.empty() ? "" : " ") + shown_value(value);
  return text.empty() ? "(none)" : text;
}

Finding round_trip_finding(const Options& options, LockAdmin& backend) {
  const auto took = backend.ping();
  if (!took) return Finding::fail(took.error());
  char ms[48];
  std::snprintf(ms, sizeof ms, "%.2f ms", std::chrono::duration<double, std::milli>(*took).count());
  const bool slow = *took * kRoundTripsInALease > options.ttl;
  const std::string what =
      std::string("one lock and unlock takes ") + ms + ", with leases of " + human_duration(options.ttl);
  return slow ? Finding::warn(what, "choose longer leases: --ttl, or ttl in the configuration") : Finding::ok(what);
}

bool any_failed(const std::vector<Finding>& findings) { return worst_status(findings) != 0; }

std::string report_text(const std::string& store, const std::vector<Finding>& config,
                        const std::vector<Finding>& findings, bool colour) {
  std::string text = painted("configuration", Paint::kBold, colour) + '\n';
  for (const Finding& finding : config) text += finding_text(finding, colour);
  text += painted(store, Paint::kBold, colour) + '\n';
  for (const Finding& finding : findings) text += finding_text(finding, colour);
  return text;
}

std::string report_json(const std::string& store, const std::vector<Finding>& config,
                        const std::vector<Finding>& findings, int status) {
  JsonWriter json("dlock.doctor/2");
  json.field("store", store).field("healthy", status == 0).key("findings").begin_array();
  const auto put = [&](const char* about, const Finding& finding) {
    json.begin_object().field("about", about).field("verdict", verdict_name(finding.verdict));
    json.field("what", finding.what).field("remedy", finding.remedy).end_object();
  };
  for (const Finding& finding : config) put("configuration", finding);
  for (const Finding& finding : findings) put("backend", finding);
  return json.end_array().end_object().line();
}

/// Remedies of the doctor do not send people to the doctor.
Finding with_remedy(Finding finding, const Options& options) {
  if (finding.remedy.find("dlock doctor") == std::string::npos) return finding;
  const std::string family(options.backends.front().family);
  finding.remedy =
      "check that the URL names the right server, and that it runs; its log says more; what dlock needs there: man " +
      (family == "local" ? std::string("dlock") : "dlock-" + family);
  return finding;
}

int print_findings(const Options& options, const std::string& store, std::vector<Finding> findings, const Log& log,
                   Output& out) {
  for (Finding& finding : findings) finding = with_remedy(std::move(finding), options);
  const std::vector<Finding> config = config_findings(options);
  std::vector<Finding> all = config;
  all.insert(all.end(), findings.begin(), findings.end());
  int status = worst_status(all);
  const auto warns = [](const Finding& finding) { return finding.verdict == Verdict::kWarn; };
  const bool warned = !options.warnings.empty() || std::any_of(all.begin(), all.end(), warns);
  if (status == 0 && options.strict && warned) status = exit_status(ErrorCode::kMisconfigured);
  return print(out, log,
               options.json ? report_json(store, config, findings, status)
                            : report_text(store, config, findings, out.look().colour),
               status);
}

}  // namespace

std::vector<Finding> config_findings(const Options& options) {
  std::vector<Finding> findings;
  const auto say = [&](std::string what) { findings.push_back(Finding::ok(std::move(what))); };
  const auto& files = options.config.files();
  if (files.empty()) say("no configuration file was found");
  for (std::size_t i = 0; i < files.size(); ++i) {
    say("read " + files[i] + (i > 0 ? ", overridden by the one above" : ""));
  }
  for (const Error& note : options.config.notes()) findings.push_back(Finding::warn(note.message, note.next));
  for (const Error& mistake : options.mistakes) {
    findings.push_back(Finding::fail(mistake));
  }
  for (const Error& fault : options.config.faults()) {
    findings.push_back(Finding::fail(fault));
  }
  for (const Setting& setting : options.config.settings()) {
    if (setting.key.empty()) continue;
    say((setting.section.empty() ? "" : "[" + setting.section + "] ") + setting.key + " = " + shown_values(setting) +
        "  (" + setting.origin.text() + ")");
  }
  for (std::size_t i = 0; i < options.backends.size(); ++i) {
    const BackendUrl& url = options.backends[i];
    say((i == 0 ? "backend " : "fallback ") + url.redacted() +
        (url.alias.empty() ? "" : "  (named " + url.alias + ")"));
  }
  return findings;
}

int worst_status(const std::vector<Finding>& findings) {
  const auto failed = [](const Finding& finding) { return finding.verdict == Verdict::kFail; };
  if (std::none_of(findings.begin(), findings.end(), failed)) return 0;
  for (const ErrorCode code : kWorstFirst) {
    const auto so = [&](const Finding& finding) { return failed(finding) && finding.failure == code; };
    if (std::any_of(findings.begin(), findings.end(), so)) return exit_status(code);
  }
  return exit_status(ErrorCode::kMisconfigured);
}

int doctor_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  std::vector<Finding> findings = backend.diagnose();
  // Measuring what is known to be broken would only say it again.
  if (!any_failed(findings)) findings.push_back(round_trip_finding(options, backend));
  return print_findings(options, backend.store(), findings, runtime.log, out);
}

int doctor_without_backend(const Options& options, const Error& why, const Runtime& runtime, Output& out) {
  const std::string store = options.backends.empty() ? "backend" : options.backends.front().redacted();
  return print_findings(options, store, {Finding::fail(why)}, runtime.log, out);
}

}  // namespace dlock
