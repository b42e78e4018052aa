# SPDX-License-Identifier: Apache-2.0
"""cutting_proxy.py FOLDER HOST PORT [PROTOCOL]: a network that fails on command, between a client and a server.

PROTOCOL says what one message is: redis (default), frames (ZooKeeper's: a length of four bytes stands before each),
mysql (a packet: an answer with rows is several), or bytes (whatever arrives at once).

Writes FOLDER/port (where clients connect), FOLDER/control and FOLDER/pid. A connection to the port FOLDER/control of
127.0.0.1 takes one command a line and answers each with one line, when it has been done:
  pass                    hand on everything; what was held back goes out now
  hold                    black hole: connections open, nothing arrives in either direction (kept for `pass`)
  drop                    the same, but what comes meanwhile is gone for ever; also what was held
  delay MS                hand on everything MS later
  reset                   reset every connection; new ones work
  refuse                  reset every connection, and new ones too until `pass`
  hang N                  what is open goes on, and so do the next N connections; later ones are accepted and never
                          answered, until `pass`
  hung                    how many those were
  cut requests|replies N  when N messages from now have been handed on in that direction, reset everything; new
                          connections work. N = 0: the next message is not handed on
  count                   "REQUESTS REPLIES" since the last `cut` or `count`
"""
import os
import selectors
import socket
import struct
import sys
import time

from resp import message_end


def listener():
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setblocking(False)
    return sock


def frame_end(data, at):
    """Where the frame that begins at `at` ends; None if it is not complete."""
    if len(data) < at + 4:
        return None
    end = at + 4 + struct.unpack_from(">I", data, at)[0]
    return end if end <= len(data) else None


def packet_end(data, at):
    """Where the MySQL packet that begins at `at` ends, a length of three bytes and a number of one before it."""
    if len(data) < at + 4:
        return None
    end = at + 4 + int.from_bytes(data[at:at + 3], "little")
    return end if end <= len(data) else None


PROTOCOLS = {"redis": message_end, "frames": frame_end, "mysql": packet_end, "bytes": lambda data, _: len(data)}


class Direction:
    """Bytes from one side of a connection to the other, in whole messages."""

    def __init__(self, name, source, sink):
        self.name, self.source, self.sink = name, source, sink
        self.buffer, self.waiting = b"", []  # (when it is due, message)

    def read(self):
        data = self.source.recv(65536)
        self.buffer += data
        return bool(data)


class Proxy:
    def __init__(self, upstream, end_of_message):
        self.upstream, self.end_of_message = upstream, end_of_message
        self.mode, self.delay = "pass", 0.0
        self.good, self.hung = None, []  # how many new connections will work yet (None: all); those that do not
        self.cut, self.counts = None, {"requests": 0, "replies": 0}
        self.pairs, self.controls = [], {}
        self.selector = selectors.DefaultSelector()
        self.clients, self.control = listener(), listener()
        self.selector.register(self.clients, selectors.EVENT_READ, self.accept_client)
        self.selector.register(self.control, selectors.EVENT_READ, self.accept_control)

    def accept_client(self, _):
        client, _ = self.clients.accept()
        if self.mode == "refuse":
            return reset(client)
        if self.good == 0:
            return self.hung.append(client)
        if self.good is not None:
            self.good -= 1
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            server = socket.create_connection(self.upstream)
        except OSError:
            return reset(client)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (Direction("requests", client, server), Direction("replies", server, client))
        self.pairs.append(pair)
        for direction in pair:
            self.selector.register(direction.source, selectors.EVENT_READ,
                                   lambda _, d=direction, p=pair: self.readable(d, p))

    def readable(self, direction, pair):
        try:
            alive = direction.read()
        except OSError:
            alive = False
        self.collect(direction)
        if not alive:
            self.flush(direction)
            self.close(pair)

    def collect(self, direction):
        """Whole messages out of the buffer."""
        while direction.buffer:
            end = self.end_of_message(direction.buffer, 0)
            if end is None:
                return
            if self.mode != "drop":
                direction.waiting.append((time.monotonic() + self.delay, direction.buffer[:end]))
            direction.buffer = direction.buffer[end:]

    def flush(self, direction):
        """Hands on what is due. False: everything was reset meanwhile."""
        while direction.waiting and self.mode == "pass" and direction.waiting[0][0] <= time.monotonic():
            _, message = direction.waiting.pop(0)
            here = self.cut is not None and self.cut[0] == direction.name
            if not (here and self.cut[1] == 0):
                try:
                    direction.sink.sendall(message)
                except OSError:
                    pass
                self.counts[direction.name] += 1
                if here:
                    self.cut[1] -= 1
            if here and self.cut[1] == 0:
                self.cut = None
                self.reset_all()
                return False
        return True

    def close(self, pair, how=socket.socket.close):
        if pair in self.pairs:
            self.pairs.remove(pair)
            for direction in pair:
                self.selector.unregister(direction.source)
                how(direction.source)

    def reset_all(self):
        for pair in list(self.pairs):
            self.close(pair, reset)

    def accept_control(self, _):
        control, _ = self.control.accept()
        file = control.makefile("rwb", buffering=0)
        self.selector.register(control, selectors.EVENT_READ, lambda _: self.command(control, file))

    def command(self, control, file):
        words = file.readline().decode().split()
        if not words:
            self.selector.unregister(control)
            file.close()
            return control.close()
        file.write(self.obey(*words).encode() + b"\n")

    def obey(self, verb, *words):
        answer = "ok"
        if verb in ("pass", "hold", "drop", "refuse"):
            self.mode = verb
            if verb == "pass":
                self.delay, self.good = 0.0, None
        elif verb == "delay":
            self.mode, self.delay = "pass", int(words[0]) / 1000
        elif verb == "hang":
            self.good = int(words[0])
        elif verb == "hung":
            answer = f"{len(self.hung)}"
        elif verb == "cut":
            self.cut = [words[0], int(words[1])]
            self.counts = {"requests": 0, "replies": 0}
        elif verb == "count":
            answer = f"{self.counts['requests']} {self.counts['replies']}"
            self.counts = {"requests": 0, "replies": 0}
        elif verb != "reset":
            return "what?"
        if verb in ("reset", "refuse"):
            self.reset_all()
        if verb == "drop":
            for direction in self.directions():
                direction.waiting.clear()
        return answer

    def directions(self):
        return [direction for pair in self.pairs for direction in pair]

    def run(self):
        while True:
            for direction in self.directions():
                if not self.flush(direction):
                    break
            due = [d.waiting[0][0] for d in self.directions() if d.waiting and self.mode == "pass"]
            timeout = max(0.0, min(due) - time.monotonic()) if due else None
            for key, _ in self.selector.select(timeout):
                if key.fileobj.fileno() >= 0:  # not closed by an event before it
                    key.data(key.fileobj)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


folder, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
proxy = Proxy((host, port), PROTOCOLS[sys.argv[4] if len(sys.argv) > 4 else "redis"])
os.makedirs(folder, exist_ok=True)
for name, number in (("control", proxy.control.getsockname()[1]), ("pid", os.getpid()),
                     ("port", proxy.clients.getsockname()[1])):
    with open(f"{folder}/{name}.part", "w") as out:
        out.write(f"{number}\n")
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}")
proxy.run()
