# SPDX-License-Identifier: Apache-2.0
"""terminal.py STEP... -- COMMAND...: runs the command in a session of its own on a terminal of its own.

A step is   expect:REGEX   wait until the screen shows it (behind what earlier steps expected)
            file:PATH      wait until the file is there and not empty
            send:TEXT      type it; \\x03 is ^C, \\x1a is ^Z, \\n is Enter
            run:COMMAND    a shell command beside the session; must succeed
            hangup:        the terminal goes away; only tail may follow
            tail           wait for the end of the command (implied behind the last step)
Prints everything that came out of the terminal, byte for byte, and ends as the command did (128+N for signal N), or
with 99 when a step took longer than 20 seconds."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT = 20.0


class Session:
    def __init__(self, command):
        self.seen, self.at = b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self):
        """False at the end."""
        if not select.select([self.fd], [], [], 0.02)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the last process with this terminal is gone
            return False
        self.seen += data
        return bool(data)

    def until(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            if not self.read() and not condition():
                self.fail(f"the session ended before {what}")
            if time.monotonic() > end:
                self.fail(f"waited {LIMIT:.0f} s for {what}")

    def fail(self, why):
        sys.stdout.buffer.write(self.seen)
        sys.stdout.flush()
        sys.stderr.write(f"terminal.py: {why}\n")
        os.killpg(self.pid, signal.SIGHUP)
        os.close(self.fd)
        sys.exit(99)

    def expect(self, pattern):
        found = None

        def matches():
            nonlocal found
            found = re.compile(pattern.encode()).search(self.seen, self.at)
            return found

        self.until(matches, f"{pattern!r} on the screen")
        self.at = found.end()

    def step(self, kind, text):
        if kind == "expect":
            self.expect(text)
        elif kind == "file":
            self.until(lambda: os.path.exists(text) and os.path.getsize(text) > 0, text)
        elif kind == "send":
            os.write(self.fd, text.encode().decode("unicode_escape").encode())
        elif kind == "run":
            try:
                done = subprocess.run(text, shell=True, capture_output=True, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                self.fail(f"waited {LIMIT:.0f} s for {text}")
            if done.returncode != 0:
                self.fail(f"{text}: status {done.returncode}: {(done.stdout + done.stderr).decode()}")
        elif kind == "hangup":
            os.close(self.fd)
            self.fd = os.open("/dev/null", os.O_RDONLY)
        else:
            sys.exit(f"terminal.py: no such step: {kind}")

    def finish(self):
        ended = []

        def over():
            if not ended:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    ended.append(status)
            return ended

        end = time.monotonic() + LIMIT
        while not over():
            self.read()
            if time.monotonic() > end:
                self.fail("waited for the end of the command")
        while select.select([self.fd], [], [], 0)[0] and self.read():
            pass
        sys.stdout.buffer.write(self.seen)
        status = ended[0]
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


split = sys.argv.index("--")
session = Session(sys.argv[split + 1:])
for word in sys.argv[1:split]:
    if word != "tail":
        session.step(*word.split(":", 1))
sys.exit(session.finish())
