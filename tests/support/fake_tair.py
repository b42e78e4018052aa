#!/usr/bin/python3 -EB
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a Tair server: the commands that dlock uses, with the bytes that the TairString module answers.

    fake_tair.py           listens on 127.0.0.1, prints "port N", and runs until its standard input ends
    fake_tair.py FOLDER    writes FOLDER/pid and FOLDER/port, and runs until it is killed

FAKE CUT NAME: the next command NAME is executed, and its connection is closed instead of answered.
FAKE SEEN: the commands so far, one string each, and those that scripts called. Scripts are run by a Lua like that of the
servers (5.1), with the same conversions.
"""
import hashlib
import os
import selectors
import socket
import sys

import lupa

from tair_store import NIL, OK, Refuse, Store, array, bulk, integer


class Scripts:
    """Lua with redis.call and redis.pcall."""

    def __init__(self, execute):
        self.execute = execute
        self.lua = lupa.LuaRuntime(encoding=None, unpack_returned_tuples=True)
        self.lua.globals()[b"redis"] = self.lua.table_from({b"call": self.call, b"pcall": self.pcall})
        # What Python cannot do: raise what a table says, as redis.call does.
        self.lua.execute(b"""
            local ask = redis.call
            redis.call = function(...)
              local reply = ask(...)
              if type(reply) == 'table' and reply.err then error(reply, 0) end
              return reply
            end""")

    def call(self, *words):
        return self.to_lua(parse_reply(self.execute([self.word(word) for word in words]))[0])

    pcall = call

    @staticmethod
    def word(value):
        return value if isinstance(value, bytes) else b"%.17g" % value

    def to_lua(self, reply):
        if isinstance(reply, list):
            return self.lua.table_from([self.to_lua(one) for one in reply])
        if isinstance(reply, Exception):
            return self.lua.table_from({b"err": reply.args[0]})
        if isinstance(reply, Status):
            return self.lua.table_from({b"ok": bytes(reply)})
        return False if reply is None else reply

    def from_lua(self, value):
        if value is None or value is False:
            return NIL
        if value is True:
            return integer(1)
        if isinstance(value, bytes):
            return bulk(value)
        if isinstance(value, (int, float)):
            return integer(int(value))
        if value[b"err"] is not None:
            return b"-" + value[b"err"] + b"\r\n"
        if value[b"ok"] is not None:
            return b"+" + value[b"ok"] + b"\r\n"
        return array([self.from_lua(one) for one in value.values()])

    def run(self, script, keys, words):
        globals_ = self.lua.globals()
        globals_[b"KEYS"], globals_[b"ARGV"] = self.lua.table_from(keys), self.lua.table_from(words)
        run = self.lua.eval(b"""function(text)
            local chunk, why = loadstring(text)
            if not chunk then return {err = 'ERR Error compiling script: ' .. why} end
            local ok, answer = pcall(chunk)
            if ok or type(answer) == 'table' then return answer end
            return {err = 'ERR Error running script: ' .. tostring(answer)}
        end""")
        return self.from_lua(run(script))


class Status(bytes):
    pass


def parse_reply(data, at=0):
    """A reply as Python says it, and where it ends."""
    end = data.index(b"\r\n", at)
    kind, line, after = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"+":
        return Status(line), after
    if kind == b"-":
        return Exception(line), after
    if kind == b":":
        return int(line), after
    if int(line) < 0:
        return None, after
    if kind == b"$":
        return data[after:after + int(line)], after + int(line) + 2
    items = []
    for _ in range(int(line)):
        item, after = parse_reply(data, after)
        items.append(item)
    return items, after


class Server:
    def __init__(self):
        self.store, self.cut, self.seen = Store(), None, []
        self.store.EVAL, self.store.EVALSHA, self.store.SCRIPT = self.eval, self.eval_by_hash, self.script
        self.texts = {}  # of scripts, by hash
        self.scripts = Scripts(self.command)
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.buffers = {}

    def announce(self, folder):
        port = self.listener.getsockname()[1]
        if folder is None:
            self.selector.register(sys.stdin.buffer.raw, selectors.EVENT_READ)
            return print("port", port, flush=True)
        for name, number in (("pid", os.getpid()), ("port", port)):
            with open(f"{folder}/{name}.part", "w") as out:
                out.write(f"{number}\n")
            os.rename(f"{folder}/{name}.part", f"{folder}/{name}")

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    connection = self.listener.accept()[0]
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.buffers[connection] = b""
                    self.selector.register(connection, selectors.EVENT_READ)
                elif key.fileobj in self.buffers:
                    self.serve(key.fileobj)
                elif not key.fileobj.read(1024):
                    return

    def serve(self, connection):
        try:
            got = connection.recv(65536)
        except OSError:
            got = b""
        self.buffers[connection] += got
        alive = bool(got)
        while alive:
            words, self.buffers[connection] = parse(self.buffers[connection])
            if words is None:
                return
            answer = self.answer(words)
            alive = answer is not None and self.send(connection, answer)
        self.selector.unregister(connection)
        del self.buffers[connection]
        connection.close()

    @staticmethod
    def send(connection, answer):
        try:
            connection.sendall(answer)
        except OSError:
            return False
        return True

    def answer(self, words):
        name = words[0].upper()
        if name == b"FAKE":
            return self.control(words)
        answer = self.command(words)
        if name != self.cut:
            return answer
        self.cut = None
        return None

    def command(self, words):
        name = words[0].upper()
        self.seen.append(b" ".join(words if name != b"EVAL" else [name] + words[3:]))
        method = getattr(self.store, name.decode("latin-1"), None) if name.isupper() else None
        if method is None or name == b"FIND":
            shown = b" ".join(b"'%s'" % word for word in words[1:]).translate(bytes.maketrans(b"\r\n", b"  "))
            return b"-ERR unknown command '%s', with args beginning with: %s\r\n" % (words[0], shown)
        try:
            return method(*words[1:])
        except Refuse as refused:
            return refused.args[0]
        except TypeError:
            return b"-ERR wrong number of arguments for '%s' command\r\n" % words[0].lower()

    def eval(self, script, count, *words):
        self.script(b"LOAD", script)
        return self.scripts.run(script, words[:int(count)], words[int(count):])

    def script(self, what, text=b""):
        if what.upper() == b"FLUSH":
            self.texts.clear()
            return OK
        name = hashlib.sha1(text).hexdigest().encode()
        self.texts[name] = text
        return bulk(name)

    def eval_by_hash(self, name, count, *words):
        script = self.texts.get(name.lower())
        return self.eval(script, count, *words) if script else b"-NOSCRIPT No matching script. Please use EVAL.\r\n"

    def control(self, words):
        if words[1].upper() == b"SEEN":
            return array([bulk(one) for one in self.seen])
        self.cut = words[2].upper()
        return OK


def parse(buffer):
    """The first request of `buffer` (None: not whole yet), and the rest of it."""
    end = buffer.find(b"\r\n")
    if end < 0:
        return None, buffer
    words, at = [], end + 2
    for _ in range(int(buffer[1:end])):
        end = buffer.find(b"\r\n", at)
        if end < 0:
            return None, buffer
        size = int(buffer[at + 1:end])
        if len(buffer) < end + 2 + size + 2:
            return None, buffer
        words.append(buffer[end + 2:end + 2 + size])
        at = end + 2 + size + 2
    return words, buffer[at:]


if __name__ == "__main__":
    server = Server()
    server.announce(sys.argv[1] if len(sys.argv) > 1 else None)
    server.run()
