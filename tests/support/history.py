# SPDX-License-Identifier: Apache-2.0
"""Histories of critical sections: who did what when, judged by acts and not by claims.

history.py section FILE [--for SECONDS] [--stubborn]    a section: what runs under the lock, ticking every 10 ms
history.py check FILE [--sections N] [--unfenced]       0 if the history is right; else says each thing that is wrong
history.py check FILE --sections N --ours               the same where only sections with a token, dlock's, run alone
history.py gap FILE [--after N]                         prints the ms between the last act of the Nth section (1) and the
                                                        next one's BEGIN

A line of FILE is "NANOSECONDS SECTION WHAT [TOKEN]", one write(2) each to a file opened with O_APPEND, so that the order
of lines is the order of acts. NANOSECONDS is CLOCK_MONOTONIC, WHAT is BEGIN, TICK, TERM (ignored with --stubborn) or
END. Foreign clients write the same lines; their TOKEN is "-". A section that was killed is judged by its last line.

Right is: no act of one section after the next one's BEGIN; tokens strictly grow; N sections in all (--sections)."""
import os
import signal
import sys
import time


class History:
    def __init__(self, path, section):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.section = section

    def write(self, what):
        line = f"{time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {self.section} {what}\n"
        os.write(self.fd, line.encode())


def section(path, seconds, stubborn):
    history = History(path, os.getpid())
    if stubborn:
        signal.signal(signal.SIGTERM, lambda *_: history.write("TERM"))
    history.write("BEGIN " + (os.environ.get("DLOCK_TOKEN") or "-"))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        history.write("TICK")
    history.write("END")


def read(path):
    """Its lines as (nanoseconds, section, what, token)."""
    with open(path) as file:
        lines = [line.split() for line in file]
    return [(int(words[0]), words[1], words[2], words[3] if len(words) > 3 else None) for words in lines]


def check(path, sections, fenced):
    acts, wrong, seen, current, last_token = read(path), [], set(), None, -1
    for number, (_, section, what, token) in enumerate(acts, 1):
        if what == "BEGIN":
            if section in seen:
                wrong.append(f"line {number}: {section} begins twice")
            seen.add(section)
            current = section
            if token != "-" and fenced:
                if int(token) <= last_token:
                    wrong.append(f"line {number}: token {token} is not above {last_token}")
                last_token = int(token)
        elif section != current:
            wrong.append(f"line {number}: {section} acts ({what}) after {current} has begun")
    if sections is not None and len(seen) != sections:
        wrong.append(f"{len(seen)} sections instead of {sections}")
    if not acts:
        wrong.append("nothing was written at all")
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


def check_ours(path, sections):
    """A section that has a token runs alone, from its BEGIN to its last act."""
    acts, wrong, spans = read(path), [], {}
    for number, (_, section, what, token) in enumerate(acts, 1):
        first, _, ours = spans.get(section, (number, number, token not in (None, "-")))
        spans[section] = (first, number, ours)
    for section, (first, last, ours) in spans.items():
        wrong += [f"{other} and {section} run at the same time" for other, (begin, end, _) in spans.items()
                  if ours and other != section and begin < last and end > first]
    if len(spans) != sections:
        wrong.append(f"{len(spans)} sections instead of {sections}")
    if not any(span[2] for span in spans.values()):
        wrong.append("none of them is ours")
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


def gap(path, number):
    acts = read(path)
    begins = [act for act in acts if act[2] == "BEGIN"]
    if len(begins) <= number:
        sys.exit(f"history.py: there are no {number + 1} sections")
    last = max(act[0] for act in acts if act[1] == begins[number - 1][1])
    print((begins[number][0] - last) // 1000000)


def value(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


if __name__ == "__main__":
    verb, file = sys.argv[1], sys.argv[2]
    if verb == "section":
        section(file, float(value("--for", "0.1")), "--stubborn" in sys.argv)
    elif verb == "check":
        count = value("--sections", None)
        if "--ours" in sys.argv:
            sys.exit(check_ours(file, int(count)))
        sys.exit(check(file, None if count is None else int(count), "--unfenced" not in sys.argv))
    elif verb == "gap":
        gap(file, int(value("--after", "1")))
    else:
        sys.exit(__doc__)
