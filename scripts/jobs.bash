# SPDX-License-Identifier: Apache-2.0
# Runs jobs side by side and counts what they say; sourced by scripts/check. A job is a shell of its own that ends at the
# first command that fails, whatever stands after that, and a job in which a command failed has failed. One that does not
# end is ended after $job_limit seconds (of a quiet machine; $job_limit_most of any), with what it ran at that moment in its
# log; and every job once all together have taken $run_limit. What a job writes to $logs/NAME/env is the environment of those
# that need it.
#
#   add_job NAME KIND NEEDS COMMAND    KIND: how its log is counted (count_KIND below). NEEDS: the names of the jobs without
#                                      which it cannot run, or nothing
#   run_jobs LANES [MOST]              runs what was added, LANES side by side, and up to MOST while the cores have time left:
#                                      tests beside more tests than that take longer, and more of the processor; builds in a
#                                      lane of their own, with less weight than tests
#   retry_jobs                         once more, alone, what failed beside others (kinds bats and part)
#   sum_jobs                           sets passed, failed, skipped, retried
#   heed_stop_signals                  INT and TERM end the runner, with 130 and 143, at its next step
#
# Uses the folder $logs (the caller's): NAME.log for each job, with / as _.

: "${logs:?}"
job_names=() job_queue=() job_retried=()
declare -A job_not_run=() # what failed: the jobs that needed it
declare -A job_overdue=() # those that did not end
declare -A job_kind=() job_needs=() job_command=() job_state=() job_passed=() job_failed=() job_skipped=() job_of_pid=() job_started=()
job_builds=0 job_said='' # what was read of a line so far: a read that times out may have half of one
most_retries=3 job_stop='' job_cpu=(0 0) job_cores=$(nproc)
job_limit=600 job_limit_most=1500 run_limit=4500
mkfifo "$logs/ends"
exec {job_ends}<>"$logs/ends"
rm "$logs/ends"

add_job() { # NAME KIND NEEDS COMMAND
  job_names+=("$1") job_queue+=("$1")
  job_kind[$1]=$2 job_needs[$1]=$3 job_command[$1]=$4 job_state[$1]=waiting
  job_passed[$1]=0 job_failed[$1]=0 job_skipped[$1]=0
}

job_log() { echo "$logs/${1//\//_}.log"; }

# How much slower this machine is just now than a quiet one: 1 to 10. Process starts and wake-ups are what tests are made
# of; 200 of the one and 50 of the other take 0.4 s on a quiet machine of two cores.
measure_slowness() {
  local begin i
  begin=${EPOCHREALTIME/./}
  for ((i = 0; i < 200; i++)); do /bin/true; done
  for ((i = 0; i < 50; i++)); do read -r -t 0.001 <> <(:) || true; done
  i=$(((${EPOCHREALTIME/./} - begin) / 500000 + 1))
  echo $((i > 10 ? 10 : i))
}

# What it has become since: a machine that has more to do now than what the jobs themselves bring is slower than measured.
slowness_now() {
  local load now
  read -r load _ </proc/loadavg
  now=$((${load%.*} / job_cores))
  now=$((now > 10 ? 10 : now))
  echo $((now > ${DLOCK_TEST_SLOWNESS:-1} ? now : ${DLOCK_TEST_SLOWNESS:-1}))
}

# In the handler itself, in the middle of a read, much cannot be done.
heed_stop_signals() {
  trap 'job_stop=130' INT
  trap 'job_stop=143' TERM
}
stop_if_told() { [ ! "$job_stop" ] || exit "$job_stop"; }

# Sets $spent to the time that the cores have had and to what of it they had nothing to do, in ticks since the machine began.
look_at_cores() {
  local now part
  read -ra now </proc/stat
  spent=(0 $((now[4] + now[5])))
  for part in "${now[@]:1}"; do spent[0]=$((spent[0] + part)); done
}

# Whether a tenth of the cores' time was left over since a job began, or since this was asked last: 2 s ago or more.
cores_rest() {
  local spent had left
  look_at_cores
  had=$((spent[0] - job_cpu[0])) left=$((spent[1] - job_cpu[1]))
  if [ "$had" -lt $((job_cores * 200)) ]; then return 1; fi
  job_cpu=("${spent[@]}")
  [ $((left * 10)) -ge "$had" ]
}

run_jobs() { # LANES [MOST]
  local next
  while [ ${#job_queue[@]} -gt 0 ] || [ ${#job_of_pid[@]} -gt 0 ]; do
    find_next_job "$@"
    # Not as a condition: below one, bash goes on after a command that fails, whatever `set -e` says.
    if [ "$next" ]; then start_job "$next"; else reap; fi
  done
  report_not_run
}

# Takes the first job that may start now out of the queue, as $next; nothing if none may before another one has ended. What
# cannot run any more ends here.
find_next_job() { # LANES [MOST]
  local i name missing lanes=$1
  if [ $((${#job_of_pid[@]} - job_builds)) -ge "$lanes" ] && cores_rest; then lanes=${2:-$1}; fi
  next=
  for i in "${!job_queue[@]}"; do
    name=${job_queue[i]}
    find_missing "$name"
    if [ "$missing" ] && [ "${job_state[$missing]}" = failed ]; then
      unset "job_queue[i]"
      do_not_run "$name" "$missing"
      continue
    fi
    if [ "$missing" ]; then continue; fi
    if [ "${job_kind[$name]}" = build ]; then
      if [ "$job_builds" -gt 0 ]; then continue; fi
    elif [ $((${#job_of_pid[@]} - job_builds)) -ge "$lanes" ]; then
      continue
    fi
    unset "job_queue[i]"
    next=$name
    return
  done
}

# Sets $missing: what NAME needs and does not have; a job that failed, before one that may still end well.
find_missing() { # NAME
  local needed
  missing=
  for needed in ${job_needs[$1]}; do
    case ${job_state[$needed]} in
      ended) ;;
      failed) missing=$needed; break ;;
      *) missing=$needed ;;
    esac
  done
}

do_not_run() { # NAME FAILED-JOB
  echo "not run, because $2 failed" >"$(job_log "$1")"
  job_state[$1]=failed job_failed[$1]=1 job_not_run[$2]+=" $1"
}

# One line for each job that failed, however many needed it.
report_not_run() {
  local name
  for name in "${!job_not_run[@]}"; do
    echo "FAIL  not run, because $name failed:${job_not_run[$name]}"
  done
  job_not_run=()
}

start_job() { # NAME
  local name=$1 needed
  : >"$(job_log "$name")"
  (
    trap 'status=$?; echo "(exit status $status; processor time of the shell and of what it ran:)"; times
      echo "$BASHPID $status" >&"$job_ends"' EXIT
    set -euo pipefail
    if [ "${job_kind[$name]}" = build ] && [ "${job_weight:-less}" = less ]; then renice -n 5 "$BASHPID" >/dev/null; fi
    DLOCK_TEST_SLOWNESS=$(slowness_now)
    export DLOCK_TEST_SLOWNESS
    for needed in ${job_needs[$name]}; do
      # shellcheck source=/dev/null
      [ ! -e "$logs/$needed/env" ] || . "$logs/$needed/env"
    done
    eval "${job_command[$name]}"
  ) >>"$(job_log "$name")" 2>&1 </dev/null &
  job_of_pid[$!]=$name job_state[$name]=running job_started[$name]=$SECONDS
  [ "${job_kind[$name]}" != build ] || job_builds=$((job_builds + 1))
  local spent
  look_at_cores
  job_cpu=("${spent[@]}")
}

# Waits for one job to end, or until the cores may have time for another one. Each says so itself; one that was killed is
# missed a little later.
reap() {
  local pid status name part
  [ ${#job_of_pid[@]} -gt 0 ] || return 0
  end_overdue_jobs
  while :; do
    stop_if_told
    if IFS= read -r -t 2 part <&"$job_ends"; then
      read -r pid status <<<"$job_said$part"
      job_said=
      if [ "${job_of_pid[$pid]-}" ]; then break; fi
      continue
    fi
    job_said+=$part
    end_overdue_jobs
    for pid in "${!job_of_pid[@]}"; do
      if [ ! "$job_said" ] && ! kill -0 "$pid" 2>/dev/null && ! read -r -t 0 <&"$job_ends"; then
        status=137
        break 2
      fi
    done
    if [ ${#job_queue[@]} -gt 0 ]; then return 0; fi
  done
  name=${job_of_pid[$pid]}
  if [ "${job_overdue[$name]-}" ]; then status=124; fi # a shell that was ended says 0
  unset "job_of_pid[$pid]"
  if [ "${job_kind[$name]}" = build ]; then job_builds=$((job_builds - 1)); fi
  end_job "$name" "$status" $((SECONDS - job_started[$name]))
}

# First by TERM; who has not ended when this is called again, by KILL.
end_overdue_jobs() {
  local pid name limit=$((job_limit * ${DLOCK_TEST_SLOWNESS:-1}))
  limit=$((limit < job_limit_most ? limit : job_limit_most))
  if [ "$SECONDS" -gt "$run_limit" ]; then limit=0; fi
  for pid in "${!job_of_pid[@]}"; do
    name=${job_of_pid[$pid]}
    if [ $((SECONDS - job_started[$name])) -le "$limit" ]; then continue; fi
    if [ "${job_overdue[$name]-}" ]; then
      kill_tree "$pid" KILL
    else
      job_overdue[$name]=yes
      { echo "did not end within $limit s; then it ran (process, seconds, command):"; show_tree "$pid"; } >>"$(job_log "$name")"
      kill_tree "$pid" TERM
    fi
  done
}

# Counts a job that has ended and prints its line.
end_job() { # NAME STATUS SECONDS
  local name=$1 counts
  counts=$("count_${job_kind[$name]}" "$(job_log "$name")" "$2")
  read -r "job_passed[$name]" "job_failed[$name]" "job_skipped[$name]" <<<"$counts"
  job_state[$name]=ended
  [ "${job_failed[$name]}" = 0 ] || job_state[$name]=failed
  report_job "$name" "$3"
}

# What failed beside others may have failed because of them. A sanitizer's finding never did, nor did a stress test.
may_be_retried() { # NAME
  [ "${job_state[$1]}" = failed ] && [[ ${job_kind[$1]} == bats || ${job_kind[$1]} == part ]] &&
    [[ $1 != stress/* && ! ${job_overdue[$1]-} ]] && ! grep -qE '[A-Za-z]Sanitizer:|runtime error:|^not run, ' "$(job_log "$1")"
}

retry_jobs() {
  local name before times=0
  for name in "${job_names[@]}"; do
    ! may_be_retried "$name" || times=$((times + job_failed[$name]))
  done
  [ "$times" -gt 0 ] || return 0
  if [ "$times" -gt "$most_retries" ]; then
    echo "$times tests failed beside others: more than the $most_retries that are tried once more"
    return 0
  fi
  for name in "${job_names[@]}"; do
    may_be_retried "$name" || continue
    before=${job_failed[$name]}
    mv -- "$(job_log "$name")" "$(job_log "$name-first")"
    echo "once more, alone: $name"
    start_job "$name"
    reap
    [ "${job_state[$name]}" = failed ] || job_retried+=("$name: $before")
  done
}

sum_jobs() {
  local name line
  passed=0 failed=0 skipped=0 retried=0
  for name in "${job_names[@]}"; do
    passed=$((passed + job_passed[$name])) failed=$((failed + job_failed[$name])) skipped=$((skipped + job_skipped[$name]))
  done
  for line in "${job_retried[@]}"; do
    echo "retried: $line failed beside others and passed alone"
    retried=$((retried + ${line##*: }))
  done
}

# Reads all of them, because what writes into a pipe that nobody reads any more has failed.
first_lines() { sed -n "1,$1s/^/        /p"; } # COUNT

sanitizer_said() { # LOG
  grep -m 1 -A 30 -E '(ERROR|WARNING): [A-Za-z]*Sanitizer:|runtime error:' "$1"
}

report_job() { # NAME SECONDS
  local name=$1 kind=${job_kind[$1]} log verdict=ok
  log=$(job_log "$name")
  [ "${job_failed[$name]}" = 0 ] || verdict=FAIL
  printf '%-5s %-28s %4d s' "$verdict" "$name" "$2"
  [ "$kind" = build ] || printf '  %4d passed' "${job_passed[$name]}"
  [ "${job_failed[$name]}" = 0 ] || printf ', %d failed' "${job_failed[$name]}"
  [ "${job_skipped[$name]}" = 0 ] || printf ', %d skipped' "${job_skipped[$name]}"
  echo
  if [ "${job_overdue[$name]-}" ]; then kind=overdue; fi
  case $verdict/$kind in
    FAIL/bats) awk '/^(not )?ok /{ bad = /^not/ } !/^ok / && (bad || !/^(#|1\.\.)/)' "$log" | first_lines 60 ;;
    FAIL/build) { grep -A 3 -E 'error:|Error' "$log" || tail -n 25 "$log"; } | first_lines 40 ;;
    FAIL/part) { sanitizer_said "$log" || grep -v '^skipped: ' "$log" | tail -n 25; } | sed 's/^/        /' ;;
    FAIL/overdue) tail -n 40 "$log" | sed 's/^/        /' ;;
    FAIL/*) { sanitizer_said "$log" || tail -n 25 "$log"; } | sed 's/^/        /' ;;
  esac
  [ "${job_skipped[$name]}" = 0 ] || grep -i 'skip' "$log" | head -n 5 | sed 's/^/        /' || true
}

# Ends PID and what it started, children first, by id.
kill_tree() { # PID SIGNAL
  local child
  for child in $(pgrep -P "$1"); do kill_tree "$child" "$2"; done
  kill -s "$2" "$1" 2>/dev/null || true
}

show_tree() { # PID
  local child
  ps -o pid=,etimes=,args= -p "$1" || true
  for child in $(pgrep -P "$1"); do show_tree "$child"; done
}

end_jobs() {
  local pid
  for pid in "${!job_of_pid[@]}"; do kill_tree "$pid" TERM; done
}

# --- each count_KIND LOG STATUS prints "PASSED FAILED SKIPPED"; a status that the counts do not explain is one failure more --

count_build() {
  if [ "$2" = 0 ]; then echo 0 0 0; else echo 0 1 0; fi
}

count_program() {
  case $2 in
    0) echo 1 0 0 ;;
    77) echo 0 0 1 ;;
    *) echo 0 1 0 ;;
  esac
}

count_doctest() {
  awk -v status="$2" '
    /^\[doctest\] test cases:/ { gsub(/[^0-9|]/, ""); split($0, n, "|"); passed += n[2]; failed += n[3]; skipped += n[4]; seen = 1 }
    END { if ((status != 0 && failed == 0) || !seen || passed + failed == 0) failed++; print passed + 0, failed + 0, skipped + 0 }' "$1"
}

# A part of a doctest program: what belongs to the other parts is not a skip, nor is what a backend may leave out
# (tests/conformance/skips.txt).
count_part() {
  local counts
  counts=$(count_doctest "$@")
  echo "${counts% *} $(grep -c '^skipped, and not on the list: ' "$1" || true)"
}

count_bats() {
  awk -v status="$2" '
    /^1\.\.[0-9]+/ { planned = substr($1, 4) + 0 }
    /^ok .* # skip/ { skipped++; next }
    /^ok / { passed++ }
    /^not ok / { failed++ }
    END {
      missing = planned - passed - failed - skipped
      if (missing > 0) failed += missing
      if (planned == 0 || (status != 0 && failed == 0)) failed++
      print passed + 0, failed + 0, skipped + 0
    }' "$1"
}
