# SPDX-License-Identifier: Apache-2.0
"""lying_zookeeper.py FOLDER [N]: something that listens where a ZooKeeper server should.

Writes FOLDER/port; how it lies is read anew from FOLDER/mode for every request, a name in LIES. The first N requests
are answered truly (0), from a tree of its own, and so is everything under the lie "none"; pings always are. The lies in
GREETINGS are told to whoever connects, all others in answer to a question."""
import os
import random
import socket
import struct
import sys
import threading

CREATE, DELETE, EXISTS, GET, SET, SYNC, PING, LIST, CHECK, MULTI, CREATE2 = 1, 2, 3, 4, 5, 9, 11, 12, 13, 14, 15
CREATE_CONTAINER, CLOSE = 19, -11
OK, NO_NODE, BAD_VERSION, NODE_EXISTS = 0, -101, -103, -110
EPHEMERAL, SEQUENTIAL = 1, 2
HUGE = 0x60000000


def integer(value):
    return struct.pack(">i", value)


def text(value):
    return integer(len(value)) + value


def frame(body):
    return integer(len(body)) + body


def header(xid, error=OK, zxid=7):
    return struct.pack(">iqi", xid, zxid, error)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0]

    def buffer(self):
        size = max(0, self.take("i"))
        self.at += size
        return self.data[self.at - size : self.at]


class Tree:
    """As much of a server as one client needs."""

    def __init__(self):
        directories = (b"/", b"/app", b"/app/k", b"/app/%stock")
        self.nodes = {path: [b"", 0, 0, 1] for path in directories}  # data, version, owner, czxid
        self.zxid = 100
        self.numbers = 0
        self.lock = threading.Lock()

    def stat(self, path):
        _data, version, owner, czxid = self.nodes[path]
        return struct.pack(">qqqqiiiqiiq", czxid, czxid, 0, 0, version, 0, 0, owner, 0, 0, czxid)

    def create(self, request, tells_stat, session):
        path, data = request.buffer(), request.buffer()
        for _ in range(request.take("i")):
            request.take("i"), request.buffer(), request.buffer()
        flags = request.take("i")
        parent = path[: path.rindex(b"/")] or b"/"
        if parent not in self.nodes:
            return NO_NODE, b""
        if flags & SEQUENTIAL and flags < 4:
            path += b"%010d" % self.numbers
            self.numbers += 1
        if path in self.nodes:
            return NODE_EXISTS, b""
        self.nodes[path] = [data, 0, session if flags in (1, 3) else 0, self.zxid]
        return OK, text(path) + (self.stat(path) if tells_stat else b"")

    def one(self, operation, request, session):
        if operation in (CREATE, CREATE2, CREATE_CONTAINER):
            return self.create(request, operation != CREATE, session)
        path = request.buffer()
        if operation == SYNC:
            return OK, text(path)
        node = self.nodes.get(path)
        if node is None:
            return NO_NODE, b""
        if operation == EXISTS:
            return OK, self.stat(path)
        if operation == GET:
            return OK, text(node[0]) + self.stat(path)
        if operation == LIST:
            names = [p[len(path.rstrip(b"/")) + 1 :] for p in self.nodes if p != b"/" and p[: p.rindex(b"/")] == path.rstrip(b"/")]
            return OK, integer(len(names)) + b"".join(map(text, names)) + self.stat(path)
        data = request.buffer() if operation == SET else b""
        version = request.take("i")
        if version not in (-1, node[1]):
            return BAD_VERSION, b""
        if operation == DELETE:
            del self.nodes[path]
        if operation == SET:
            node[0], node[1] = data, node[1] + 1
            return OK, self.stat(path)
        return OK, b""

    def multi(self, request, session):
        before = {path: list(node) for path, node in self.nodes.items()}
        answer = b""
        while True:
            operation, done, _error = request.take("i"), request.take("?"), request.take("i")
            if done:
                return answer + struct.pack(">i?i", -1, True, -1)
            code, body = self.one(operation, request, session)
            if code != OK:
                self.nodes = before
                return struct.pack(">i?ii", -1, False, code, code) + struct.pack(">i?i", -1, True, -1)
            answer += struct.pack(">i?i", operation, False, 0) + body

    def answer(self, operation, request, session):
        with self.lock:
            self.zxid += 1
            if operation == MULTI:
                return OK, self.multi(request, session)
            if operation in (PING, CLOSE) or operation >= 100:
                return OK, b""
            return self.one(operation, request, session)


def forever(connection, block):
    block *= max(1, 65536 // len(block))
    while True:
        connection.sendall(block)


def hang_up(connection, *_):
    connection.shutdown(socket.SHUT_RDWR)


def silence(connection, *_):
    while connection.recv(65536):
        pass


def greet(timeout=10000, session=0x1234, password=text(b"p" * 16), rest=b"\0"):
    return struct.pack(">iiq", 0, timeout, session) + password + rest


def raw(data):
    return lambda connection, xid, operation, body: connection.sendall(data)


def body_of(make):
    """A frame with a good header and such a body."""
    return lambda connection, xid, operation, body: connection.sendall(frame(header(xid) + make(operation, body)))


def code_of(error):
    return lambda connection, xid, operation, body: connection.sendall(frame(header(xid, error)))


def before_truth(data):
    return lambda connection, xid, operation, body: connection.sendall(data + frame(header(xid) + body))


def endless(connection, xid, operation, body):
    connection.sendall(integer(HUGE))
    forever(connection, b"x")


def event(kind, state, path):
    return frame(header(-1) + struct.pack(">ii", kind, state) + path)


NOISE = random.Random(7).randbytes(4096)
STAT = struct.pack(">qqqqiiiqiiq", *[1] * 11)

GREETINGS = {
    "greeting-huge": integer(HUGE),
    "greeting-negative": integer(-7),
    "greeting-empty": integer(0),
    "greeting-short": frame(b"\0\0\0"),
    "greeting-noise": NOISE,
    "greeting-web": b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html>",
    "greeting-no-password": frame(greet(password=integer(-1))),
    "greeting-long-password": frame(greet(password=text(b"p" * 300))),
    "greeting-huge-password": frame(greet(password=integer(HUGE))),
    "greeting-no-time": frame(greet(timeout=0)),
    "greeting-negative-time": frame(greet(timeout=-1)),
    "greeting-long-time": frame(greet(timeout=0x7FFFFFFF)),
    "greeting-no-session": frame(greet(session=0)),
    "greeting-tls": b"\x15\x03\x03\0\x02\x02\x0a",  # an alert: no handshake
    "greeting-silence": b"",
}

LIES = {
    "none": lambda c, xid, op, body: c.sendall(frame(header(xid) + body)),
    # lengths
    "frame-huge": raw(integer(HUGE)),
    "frame-endless": endless,
    "frame-negative": raw(integer(-7)),
    "frame-empty": raw(integer(0)),
    "frame-short": raw(frame(b"\0\0\0\1")),
    "frames-endless": lambda c, xid, op, body: forever(c, frame(header(xid) + body)),
    "header-alone": body_of(lambda op, body: b""),
    "body-half": body_of(lambda op, body: body[: len(body) // 2]),
    "body-long": body_of(lambda op, body: body + b"x" * (1 << 20)),
    "body-noise": body_of(lambda op, body: NOISE),
    "body-zero": body_of(lambda op, body: b"\0" * 4096),
    "body-ones": body_of(lambda op, body: b"\xff" * 4096),
    "string-huge": body_of(lambda op, body: integer(HUGE) + STAT),
    "string-null": body_of(lambda op, body: integer(-1) + STAT),
    "string-negative": body_of(lambda op, body: integer(-9) + STAT),
    "names-huge": body_of(lambda op, body: integer(HUGE) + text(b"x") if op == LIST else body),
    "names-many": body_of(lambda op, body: integer(40000000) + text(b"x") * 9 if op == LIST else body),
    "names-negative": body_of(lambda op, body: integer(-3) + STAT if op == LIST else body),
    "names-null": body_of(lambda op, body: integer(2) + integer(-1) * 2 + STAT if op == LIST else body),
    "names-short": body_of(lambda op, body: integer(9) + text(b"x") + STAT if op == LIST else body),
    "names-escapes": body_of(lambda op, body: integer(1) + text(b"\x1b[2J\xff-lock-0000000000") + STAT if op == LIST else body),
    "multi-endless": body_of(lambda op, body: struct.pack(">i?i", 1, False, 0) * 9000 if op == MULTI else body),
    "multi-null": body_of(lambda op, body: (struct.pack(">i?i", 1, False, 0) + integer(-1)) * 3 + struct.pack(">i?i", -1, True, -1) if op == MULTI else body),
    "multi-nothing": body_of(lambda op, body: struct.pack(">i?i", -1, True, -1) if op == MULTI else body),
    "multi-other": body_of(lambda op, body: struct.pack(">i?i", 77, False, 0) + body if op == MULTI else body),
    "multi-errors": body_of(lambda op, body: struct.pack(">i?ii", -1, False, -2, -2) * 2 if op == MULTI else body),
    # answers to another question
    "xid-other": lambda c, xid, op, body: c.sendall(frame(header(xid + 1) + body)),
    "xid-negative": lambda c, xid, op, body: c.sendall(frame(header(-77) + body)),
    "xid-auth": lambda c, xid, op, body: c.sendall(frame(header(-4, -115))),
    "twice": lambda c, xid, op, body: c.sendall(frame(header(xid) + body) * 2),
    "error-unknown": code_of(-999),
    "error-positive": code_of(17),
    "error-marshalling": code_of(-5),
    "error-expired": code_of(-112),
    "error-moved": code_of(-118),
    "event-null": before_truth(event(3, 3, integer(-1))),
    "event-unknown": before_truth(event(77, 99, text(b"/k"))),
    "event-short": before_truth(frame(header(-1) + b"\0")),
    "event-huge": before_truth(frame(header(-1) + struct.pack(">ii", 3, 3) + integer(HUGE))),
    "events-endless": lambda c, xid, op, body: forever(c, event(3, 3, text(b"/k"))),
    "pings-endless": lambda c, xid, op, body: forever(c, frame(header(-2))),
    "hang-up": hang_up,
    "silence": silence,
}


def receive(connection):
    data = b""
    size = 4
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError
        data += piece
        if size == 4 and len(data) == 4:
            size += max(0, struct.unpack(">i", data)[0])
    return data[4:]


class Liar:
    def __init__(self, folder, honest):
        self.folder, self.honest = folder, honest
        self.tree = Tree()
        self.sessions = 0x1000

    def mode(self):
        with open(f"{self.folder}/mode") as file:
            return file.read().strip()

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = Reader(receive(connection))
        hello.take("i"), hello.take("q")
        timeout, session = hello.take("i"), hello.take("q")
        if self.mode() in GREETINGS and self.honest <= 0:
            connection.sendall(GREETINGS[self.mode()])
            if self.mode() != "greeting-tls":  # which a server that wants a handshake follows by its end
                silence(connection)
            return
        if not session:
            self.sessions += 1
            session = self.sessions
        connection.sendall(frame(greet(timeout, session)))
        while True:
            request = Reader(receive(connection))
            xid, operation = request.take("i"), request.take("i")
            code, body = self.tree.answer(operation, request, session)
            honest = operation == PING or self.honest > 0
            if operation != PING:
                self.honest -= 1
            if honest or code != OK or self.mode() in GREETINGS:
                connection.sendall(frame(header(xid, code) + body))
            else:
                LIES[self.mode()](connection, xid, operation, body)

    def talk(self, connection):
        try:
            with connection:
                self.serve(connection)
        except (OSError, struct.error):
            pass


def main():
    liar = Liar(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    listener = socket.create_server(("127.0.0.1", 0))
    with open(f"{liar.folder}/port.part", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(f"{liar.folder}/port.part", f"{liar.folder}/port")
    while True:
        threading.Thread(target=liar.talk, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
