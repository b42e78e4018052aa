# SPDX-License-Identifier: Apache-2.0
"""lying_redis.py FOLDER [PORT N]: something that listens where a Redis server should.

Writes FOLDER/port and FOLDER/pid; how it lies is read anew from FOLDER/mode for every request. With PORT it hands the
first N requests that matter (anything but AUTH, HELLO, SELECT, CLIENT) on to the real server there, and lies from then
on. What greets (AUTH, SELECT, CLIENT) is answered with OK, so that what lies is the answer to a question."""
import os
import random
import socket
import sys
import threading

from resp import message_end

PIECE = 1 << 16


def forever(connection, head, piece):
    connection.sendall(head)
    block = piece * (PIECE // len(piece))
    while True:
        connection.sendall(block)


def silence(connection):
    while connection.recv(PIECE):
        pass


def slowly(connection, text):
    for byte in text:
        connection.sendall(bytes([byte]))
        threading.Event().wait(0.05)


def hang_up(connection):
    connection.shutdown(socket.SHUT_RDWR)


def noise(seed):
    return random.Random(seed).randbytes(4096)


def nested(inner, depth):
    return b"*1\r\n" * depth + inner


ESCAPES = b"\x1b]0;title\x07\x1b[2J\x1b[31m\xc2\x9b\xff\xfe"

LIES = {
    # more than anybody wants
    "endless-string": lambda c: forever(c, b"$1000000000000\r\n", b"x"),
    "endless-array": lambda c: forever(c, b"*2000000000\r\n", b":1\r\n"),
    "endless-arrays": lambda c: forever(c, b"", b"*1000\r\n"),
    "endless-line": lambda c: forever(c, b"+", b"x"),
    "endless-depth": lambda c: forever(c, b"", b"*1\r\n"),
    "endless-answers": lambda c: forever(c, b"", b"*0\r\n"),
    "endless-noise": lambda c: forever(c, b"", noise(1)),
    "big-string": lambda c: c.sendall(b"$16777216\r\n" + b"x" * (1 << 24) + b"\r\n"),
    "big-array": lambda c: c.sendall(b"*4000000\r\n" + b":1\r\n" * 4000000),
    "big-error": lambda c: c.sendall(b"-ERR " + b"x" * (1 << 24) + b"\r\n"),
    "big-pairs": lambda c: c.sendall(b"*2\r\n$4\r\nbusy\r\n*2000000\r\n" + b"$0\r\n\r\n" * 2000000),
    "announced-string": lambda c: (c.sendall(b"$1000000000000\r\nx"), silence(c)),
    "announced-array": lambda c: (c.sendall(b"*2000000000\r\n:1\r\n"), silence(c)),
    # what is no answer
    "noise": lambda c: c.sendall(noise(2)),
    "web": lambda c: c.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html>"),
    "tls-alert": lambda c: c.sendall(b"\x15\x03\x01\x00\x02\x02\x28"),
    "silence": silence,
    "hang-up": hang_up,
    "half": lambda c: (c.sendall(b"*4\r\n$7\r\ngran"), hang_up(c)),
    "slow": lambda c: slowly(c, b"*4\r\n$7\r\ngranted\r\n$1\r\n7\r\n$32\r\n" + b"0" * 32 + b"\r\n:0\r\n"),
    "resp3-map": lambda c: c.sendall(b"%1\r\n+a\r\n:1\r\n"),
    "resp3-double": lambda c: c.sendall(b",1.5\r\n"),
    "resp3-bool": lambda c: c.sendall(b"#t\r\n"),
    "bad-length": lambda c: c.sendall(b"$-7\r\n\r\n"),
    "bad-count": lambda c: c.sendall(b"*-9\r\n"),
    "bad-number": lambda c: c.sendall(b":99999999999999999999999\r\n"),
    # answers to another question
    "nil": lambda c: c.sendall(b"$-1\r\n"),
    "number": lambda c: c.sendall(b":1\r\n"),
    "ok": lambda c: c.sendall(b"+OK\r\n"),
    "empty-string": lambda c: c.sendall(b"$0\r\n\r\n"),
    "empty-array": lambda c: c.sendall(b"*0\r\n"),
    "nils": lambda c: c.sendall(b"*8\r\n" + b"$-1\r\n" * 8),
    "arrays": lambda c: c.sendall(b"*8\r\n" + b"*1\r\n*0\r\n" * 8),
    "deep": lambda c: c.sendall(nested(b":1\r\n", 7)),
    "deeper": lambda c: c.sendall(nested(b":1\r\n", 100000)),
    "twice": lambda c: c.sendall(b"*1\r\n$4\r\nfree\r\n" * 2),
    # almost a lock
    "granted": lambda c: c.sendall(b"*1\r\n$7\r\ngranted\r\n"),
    "granted-nothing": lambda c: c.sendall(b"*4\r\n$7\r\ngranted\r\n$0\r\n\r\n$0\r\n\r\n:0\r\n"),
    "granted-to-us": lambda c: c.sendall(b"*4\r\n$7\r\ngranted\r\n$1\r\n7\r\n$1\r\nx\r\n:0\r\n"),
    "granted-nils": lambda c: c.sendall(b"*4\r\n$7\r\ngranted\r\n$-1\r\n$-1\r\n$-1\r\n"),
    "busy": lambda c: c.sendall(b"*1\r\n$4\r\nbusy\r\n"),
    "renewed": lambda c: c.sendall(b"*1\r\n$7\r\nrenewed\r\n"),
    "conflict": lambda c: c.sendall(b"*2\r\n$8\r\nconflict\r\n$-1\r\n"),
    # errors
    "error": lambda c: c.sendall(b"-ERR something\r\n"),
    "error-empty": lambda c: c.sendall(b"-\r\n"),
    "error-escapes": lambda c: c.sendall(b"-ERR " + ESCAPES + b" the end\r\n"),
    "error-long": lambda c: c.sendall(b"-ERR " + b"long " * 2000 + b"\r\n"),
    "noauth": lambda c: c.sendall(b"-NOAUTH " + ESCAPES + b"\r\n"),
    "loading": lambda c: c.sendall(b"-LOADING " + ESCAPES + b"\r\n"),
    "oom": lambda c: c.sendall(b"-OOM " + ESCAPES + b"\r\n"),
    "wrongtype": lambda c: c.sendall(b"-WRONGTYPE " + ESCAPES + b"\r\n"),
    "moved": lambda c: c.sendall(b"-MOVED 16383 " + ESCAPES + b":1\r\n"),
    "moved-nowhere": lambda c: c.sendall(b"-MOVED 99999999 :0\r\n"),
    "moved-here": lambda c: c.sendall(b"-MOVED 1 :%d\r\n" % c.getsockname()[1]),
}


def messages(connection):
    data = b""
    while True:
        end = message_end(data)
        while end is None:
            more = connection.recv(PIECE)
            if not more:
                return
            data += more
            end = message_end(data)
        yield data[:end]
        data = data[end:]


class Liar:
    def __init__(self, folder, port, honest):
        self.folder, self.port, self.honest = folder, port, honest
        self.lock = threading.Lock()

    def tells_the_truth(self):
        with self.lock:
            self.honest -= 1
            return self.honest >= 0

    def lie(self, connection):
        with open(os.path.join(self.folder, "mode")) as file:
            LIES[file.read().strip()](connection)

    def serve(self, connection):
        real = None
        try:
            for request in messages(connection):
                verb = request.split(b"\r\n")[2].upper()
                if verb in (b"AUTH", b"HELLO", b"SELECT", b"CLIENT"):
                    connection.sendall(b"+OK\r\n")
                elif self.port and self.tells_the_truth():
                    real = real or socket.create_connection(("127.0.0.1", self.port))
                    real.sendall(request)
                    connection.sendall(next(messages(real)))
                else:
                    self.lie(connection)
        except (OSError, ValueError, IndexError, RuntimeError):
            pass
        finally:
            connection.close()


def main():
    folder = sys.argv[1]
    port, honest = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 2 else (0, 0)
    liar = Liar(folder, port, honest)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with open(os.path.join(folder, "pid"), "w") as file:
        file.write(str(os.getpid()))
    with open(os.path.join(folder, "port.part"), "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(os.path.join(folder, "port.part"), os.path.join(folder, "port"))
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=liar.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
