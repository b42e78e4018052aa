# SPDX-License-Identifier: Apache-2.0
"""A client of kazoo's locks for tests: kazoo_peer.py ADDRESS SESSION-MS. Reads commands and answers each with one line:

take NAME FAMILY PATH MS        "held NAME", or "busy NAME" when MS have passed; a family is one of make()
free NAME                       "free NAME"
contenders FAMILY PATH          the identifiers of those who hold or wait, in their order, as kazoo reads them
set PATH TEXT                   sets the data of a node
make PATH                       a node with all above it
children PATH                   their names, sorted
delete PATH                     a node that may be gone already
protect PATH USER PASSWORD [RIGHTS]  the same, where USER may do everything and anybody else what RIGHTS says: "r"
hide PATH                       nobody may read the nodes in it any more
create PATH                     a sequential node: prints its name
leave PATH,... WORD...          the same, several at once with the words in them, until this client ends
queue PATH COUNT                COUNT contenders of Curator's mutex in this client's session
crash                           ends without closing the session
crowd FAMILY PATH COUNT ROUNDS  COUNT clients of their own take it ROUNDS times each; each hold is a section in the file
                                "history" (see tests/verify/verify.cpp); "done" when all of them are
"""
import os
import sys
import threading
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, NoNodeError
from kazoo.security import ACL, Id, Permissions, make_digest_acl

address, session = sys.argv[1], int(sys.argv[2]) / 1000


RIGHTS = ("READ", "WRITE", "CREATE", "DELETE")


def connected():
    client = KazooClient(hosts=address, timeout=session)
    client.start()
    return client


def make(client, family, path):
    kind, _, count = family.partition(":")
    identifier = f"kazoo-{os.getpid()}"
    if kind == "semaphore":
        return client.Semaphore(path, identifier, max_leases=int(count))
    return {"lock": client.Lock, "read": client.ReadLock, "write": client.WriteLock}[kind](path, identifier)


def act(section, what):
    with open("history", "ab", buffering=0) as history:
        history.write(f"{time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {section} {what}\n".encode())


def member(family, path, number, rounds):
    client = connected()
    lock = make(client, family, path)
    for turn in range(1, rounds + 1):
        with lock:
            section = f"kazoo-{family}{number}.{turn}"
            act(section, "BEGIN -")
            time.sleep(0.015)
            act(section, "END")
    client.stop()


class Peer:
    def __init__(self):
        self.client, self.locks = connected(), {}

    def take(self, name, family, path, ms):
        lock = make(self.client, family, path)
        try:
            held = lock.acquire(timeout=int(ms) / 1000)
        except LockTimeout:
            held = False
        if held:
            self.locks[name] = lock
        return f"{'held' if held else 'busy'} {name}"

    def free(self, name):
        self.locks.pop(name).release()
        return f"free {name}"

    def queue(self, path, count):
        made = [self.client.create_async(f"{path}/_c_{uuid.uuid4()}-lock-", b"10.0.0.9", ephemeral=True, sequence=True)
                for _ in range(int(count))]
        for one in made:
            one.get()
        return "ok"

    def contenders(self, family, path):
        return ",".join(make(self.client, family, path).contenders())

    def set(self, path, text):
        self.client.set(path, text.encode())
        return "ok"

    def make(self, path):
        self.client.ensure_path(path)
        return "ok"

    def children(self, path):
        try:
            return " ".join(sorted(self.client.get_children(path)))
        except NoNodeError:
            return "no such node"

    def delete(self, path):
        try:
            self.client.delete(path)
        except NoNodeError:
            pass
        return "ok"

    def protect(self, path, user, password, rights=""):
        given = sum(getattr(Permissions, name) for name in RIGHTS if name[0].lower() in rights)
        others = [ACL(given, Id("world", "anyone"))] if given else []
        self.client.ensure_path(path.rpartition("/")[0])
        self.client.create(path, acl=[make_digest_acl(user, password, all=True), *others])
        return "ok"

    def hide(self, path):
        for name in self.client.get_children(path):
            self.client.set_acls(path + "/" + name, [ACL(Permissions.ADMIN, Id("world", "anyone"))])
        return "ok"

    def create(self, path):
        return self.client.create(path, sequence=True)

    def leave(self, paths, *words):
        together = self.client.transaction()
        for path in paths.split(","):
            together.create(path, " ".join(words).encode(), ephemeral=True, sequence=True)
        return ",".join(together.commit())

    def crash(self):
        os._exit(9)

    def crowd(self, family, path, count, rounds):
        threads = [threading.Thread(target=member, args=(family, path, i, int(rounds))) for i in range(int(count))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "done"


peer = Peer()
for line in sys.stdin:
    verb, *words = line.split()
    try:
        answer = getattr(peer, verb)(*words)
    except Exception as failure:  # the test sees it
        answer = f"failed: {failure!r}"
    print(answer, flush=True)
os._exit(0)  # as a process that was ended: a session that is still open runs out
