# SPDX-License-Identifier: Apache-2.0
"""document_shape.py EXAMPLES: what a reader of these documents (a Kubernetes API server, a CI system, Ansible, Jenkins,
Docker) refuses them without. Prints FILE: PART for each that is missing or of the wrong kind; 1 if there is any."""
import json
import pathlib
import re
import sys

import yaml

texts = lambda value: isinstance(value, list) and value != [] and all(isinstance(one, str) for one in value)
text = lambda value: isinstance(value, str) and value != ""
schedule = lambda value: text(value) and len(value.split()) == 5
one_of = lambda *words: lambda value: value in words
environment = lambda value: all(text(one.get("name")) and ("value" in one) != ("valueFrom" in one) for one in value)
steps = lambda value: all(text(one.get("run")) != text(one.get("uses")) for one in value)
rules = lambda value: isinstance(value, list) and value != [] and all(text(one.get("if")) for one in value)

POD = "spec.jobTemplate.spec.template.spec"
YAML = {
    "kubernetes-cronjob.yml": {
        "apiVersion": one_of("batch/v1"),
        "kind": one_of("CronJob"),
        "metadata.name": lambda value: re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?", value),
        "spec.schedule": schedule,
        "spec.concurrencyPolicy": one_of("Allow", "Forbid", "Replace"),
        "spec.jobTemplate.spec.backoffLimit": lambda value: isinstance(value, int),
        f"{POD}.restartPolicy": one_of("Never", "OnFailure"),
        f"{POD}.terminationGracePeriodSeconds": lambda value: isinstance(value, int),
        f"{POD}.containers.0.name": text,
        f"{POD}.containers.0.image": text,
        f"{POD}.containers.0.command": texts,
        f"{POD}.containers.0.env": environment,
    },
    # YAML 1.1 reads the key `on` as a boolean.
    "github-actions.yml": {
        "True": lambda value: value != {},
        "jobs.deploy.runs-on": text,
        "jobs.deploy.container": one_of("debian:12", "debian:13"),
        "jobs.deploy.steps": steps,
        "jobs.preview.container": one_of("debian:12", "debian:13"),
        "jobs.preview.steps": steps,
    },
    "gitlab-ci.yml": {"deploy.script": texts, "deploy.rules": rules, "migrate.script": texts, "migrate.rules": rules},
    "ansible.yml": {"0.hosts": text, "0.tasks.0.name": text, "0.tasks.0.ansible.builtin.command.argv": texts},
}


def part(document, path):
    """What is at `path`, whose names may have dots; None if there is nothing."""
    if path == "":
        return document
    if isinstance(document, list):
        first, _, rest = path.partition(".")
        return part(document[int(first)], rest) if int(first) < len(document) else None
    for name in document if isinstance(document, dict) else ():
        if path == str(name) or path.startswith(f"{name}."):
            return part(document[name], path[len(str(name)) + 1 :])
    return None


def wrong_in_yaml(document, rules):
    for path, is_right in rules.items():
        value = part(document, path)
        if value is None or not is_right(value):
            yield path


def wrong_in_jenkinsfile(said):
    """Declarative: pipeline { agent, stages { stage { when, if there is a condition; steps } } }."""
    bare = re.sub(r"//.*|'[^'\n]*'|\"[^\"\n]*\"", "", said)
    if bare.count("{") != bare.count("}"):
        yield "braces"
    for name, pattern in {
        "agent": r"pipeline\s*{\s*agent\b",
        "steps": r"stages\s*{\s*stage\(\)\s*{\s*(when\s*{\s*(branch|not\s*{\s*branch\s*})\s*}\s*)?steps\s*{\s*sh\b",
    }.items():
        if not re.search(pattern, bare):
            yield name


def wrong_in_dockerfile(said):
    stages = set()
    for line in re.sub(r"\\\n", " ", said).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.update(re.findall(r" AS (\S+)", rest))
        elif word == "COPY":
            yield from set(re.findall(r"--from=(\S+)", rest)) - stages
        elif word in ("ENTRYPOINT", "CMD"):
            if not texts(json.loads(rest)):
                yield word
        elif word not in ("RUN", "ENV", "") and not word.startswith("#"):
            yield word


def wrong(examples):
    for name, rules in YAML.items():
        for path in wrong_in_yaml(yaml.safe_load((examples / name).read_text()), rules):
            yield f"{name}: {path}"
    for name, check in {"Jenkinsfile": wrong_in_jenkinsfile, "Dockerfile": wrong_in_dockerfile}.items():
        for what in check((examples / name).read_text()):
            yield f"{name}: {what}"


found = list(wrong(pathlib.Path(sys.argv[1])))
print("\n".join(found), end="")
sys.exit(1 if found else 0)
