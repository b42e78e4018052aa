# SPDX-License-Identifier: Apache-2.0
# What the place that hosts this repository runs and asks: .github/.
bats_require_minimum_version 1.5.0

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

# What EXPRESSION on the document d says; the key "on" is read as true.
in_yaml() { # FILE EXPRESSION
  python3 -c 'import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$root/.github/$1" "$2"
}
commands_of() { in_yaml workflows/ci.yml '"\n".join(s["run"] for s in d["jobs"]["'"$1"'"]["steps"] if "scripts" in s.get("run", ""))'; } # JOB

@test "each push and pull request runs the two commands of README on the systems that it names" {
  [ "$(commands_of debian)" = "$(sed -nE 's,^    (\./scripts/[a-z]+)  .*,\1,p' "$root/README.md")" ]
  run -0 in_yaml workflows/ci.yml '" and ".join(d["jobs"]["debian"]["strategy"]["matrix"]["release"])'
  grep -q "Debian ${output/and/or}" "$root/README.md"
  run -0 in_yaml workflows/ci.yml 'sorted(d[True])'
  [[ $output == *"'pull_request', 'push', 'schedule'"* ]]
  # A job that writes nothing gets no right to write.
  [ "$(in_yaml workflows/ci.yml 'd["permissions"]')" = "{'contents': 'read'}" ]
}

@test "once a week everything is checked" {
  [ "$(commands_of everything)" = './scripts/check --all' ]
  [[ "$(in_yaml workflows/ci.yml 'd["jobs"]["everything"]["if"]')" == *"github.event_name == 'schedule'"* ]]
  [[ "$(in_yaml workflows/ci.yml 'd[True]["schedule"][0]["cron"]')" =~ ^[0-9]+\ [0-9]+\ \*\ \*\ [0-6]$ ]]
}

@test "who reports a problem is asked for the line with -v, for dlock doctor, and for versions" {
  [ "$(in_yaml ISSUE_TEMPLATE/problem.yml '[b["id"] for b in d["body"]]')" = "['line', 'doctor', 'versions']" ]
  [ "$(in_yaml ISSUE_TEMPLATE/problem.yml 'all(b["validations"]["required"] for b in d["body"])')" = True ]
}
