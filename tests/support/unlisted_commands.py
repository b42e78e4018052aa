#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unlisted_commands.py ROOT: which commands of this machine the shell scripts and tests under ROOT call that a bare Debian
with the packages of scripts/packages.txt, and what these depend on, would not have. A line each: COMMAND PACKAGE FILE...

Reads words where commands stand. Passed over are the functions of these scripts, which a command of a package that
happens to be installed may share its name with, and what is no command of this machine (a word of a text).
"""
import os
import re
import shutil
import subprocess
import sys

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
FUNCTION = re.compile(r"^[ ]*([a-z_]\w*)\(\)", re.M)
# Where a command begins: a line, a list, a pipe, a substitution, behind a word that runs the next one.
COMMAND = re.compile(
    r"""(?:^|[|;&(`]|\b(?:then|do|else|elif|if|while|until|exec|run|env|command[ ]-v|xargs|setsid|nohup|sudo|!)\s
           |--\s|-c\s)
        (?=\s*(?:(?:-\d+|[A-Za-z_]\w*=\S*)\s+)*["']?([a-z_][a-z0-9_.+-]*)(?:[\s;"')|&]|$))""", re.M | re.X)


def is_shell(path):
    if path.endswith((".bats", ".bash")):
        return True
    with open(path, "rb") as file:
        return re.match(rb"#!.*(bash|/sh)", file.read(64)) is not None


def commands(root):
    found, functions = {}, set()
    for folder in ("scripts", "tests", "examples", ".ci"):
        for place, _, names in os.walk(os.path.join(root, folder)):
            for path in (os.path.join(place, name) for name in names):
                if is_shell(path):
                    with open(path, encoding="utf-8") as file:
                        text = re.sub(r"(^|\s)#.*$", "", file.read().replace("\\\n", " "), flags=re.M)
                    functions.update(FUNCTION.findall(text))
                    for word in COMMAND.findall(text):
                        found.setdefault(word, set()).add(os.path.relpath(path, root))
    return {word: files for word, files in found.items() if word not in functions}


def names(field):
    return [re.sub(r"[ :(].*", "", part.strip()) for part in re.split(r"[,|]", field) if part.strip()]


def fresh_machine(listed):
    """The packages of a fresh machine: what debootstrap makes (required, and apt), LISTED, and what they depend on."""
    query = "${Package}\t${Priority}\t${Depends},${Pre-Depends}\t${Provides}\n"
    depends, providers, todo = {}, {}, ["apt", *listed]
    for line in subprocess.check_output(["dpkg-query", "-W", "-f", query], text=True).splitlines():
        package, priority, needs, provides = line.split("\t")
        depends[package] = names(needs)
        if priority == "required":
            todo.append(package)
        for name in names(provides):
            providers.setdefault(name, []).append(package)
    packages = set()
    while todo:
        package = todo.pop()
        if package not in packages:
            packages.add(package)
            todo += depends.get(package, []) + providers.get(package, [])
    return packages


def spellings(path):
    """Of a file as it stands or behind its links, with /usr or, where dpkg does not know of the merge, without."""
    return [spelling for name in (path, os.path.realpath(path)) for spelling in (name, re.sub("^/usr", "", name))]


def owners(paths):
    """The package of each of these files, by one question: dpkg reads all that it knows for each one."""
    said = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, check=False).stdout
    lines = [line for line in said.splitlines() if not line.startswith("diversion ")]
    return {line.rsplit(": ", 1)[1]: re.split("[:,]", line)[0] for line in lines}


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "scripts/packages.txt"), encoding="utf-8") as file:
        purposes = dict(line.split()[:2] for line in file if not line.startswith("#") and line.strip())
    provided = {entry.split("/")[1] for entry in purposes if "/" in entry}  # PACKAGE/COMMAND
    # What a release is made with is not there when the tests run, nor is what it depends on.
    fresh = fresh_machine([entry.split("/")[0] for entry in purposes if purposes[entry] != "release"])
    fresh |= set(purposes)
    fresh.add("dlock")  # a test of the package installs it for a moment
    found = {word: files for word, files in sorted(commands(root).items()) if word not in provided}
    paths = {word: shutil.which(word, path=PATH) for word in found}
    known = {word: spellings(path) for word, path in paths.items() if path is not None}
    owner = owners([path for some in known.values() for path in some])
    for word, some in known.items():
        package = next((owner[path] for path in some if path in owner), "(none)")
        if package not in fresh:
            print(word, package, *sorted(found[word]))


main()
