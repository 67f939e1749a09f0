#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lists of conformance/mutations fit the sources, each rule of their check notices a breach, every mutation can be
applied and taken back without a trace, no id stands in both, and a draw is the same everywhere."""
import copy
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile
from collections import Counter

TOOL = "conformance/mutations/apply"
DRAWN = ["b.two", "c.three"]  # of a.one, b.two, c.three by seed 4; worked out by sha256sum


def load(path):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("apply", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("apply", loader))
    loader.exec_module(module)
    return module


def broken_copies(mutations):
    """One breach each, so that a rule that notices nothing is itself noticed."""
    first = mutations[0]
    yield "an id twice", mutations + [{**first, "find": "another", "replace": "text"}]
    yield "a change twice", mutations + [{**first, "id": "another.id"}]
    for name, change in {
        "an unknown kind": {"kind": "gremlin"},
        "a text that replaces itself": {"replace": first["find"]},
        "a text that isn't there": {"find": "no source has this text"},
        "a text that stands more than once": {"find": "return"},
        "no text": {"find": ""},
        "a file that isn't there": {"file": os.path.dirname(first["file"]) + "/nowhere.cpp"},
        "a file that the list isn't of": {"file": "tools/verbena/main.cpp"},
    }.items():
        changed = copy.deepcopy(mutations)
        changed[0].update(change)
        yield name, changed


def faults_of_round_trips(tool, mutations):
    with tempfile.TemporaryDirectory() as tree:
        for name in {entry["file"] for entry in mutations}:
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            shutil.copy(name, os.path.join(tree, name))
        for entry in mutations:
            before = tool.read_source(tree, entry["file"])
            tool.apply(entry, tree)
            if tool.read_source(tree, entry["file"]) == before:
                yield f"{entry['id']} changes nothing"
            try:
                tool.apply(entry, tree)
                yield f"{entry['id']} is applied on top of itself"
            except tool.Refused:
                pass
            tool.revert(entry, tree)
            if tool.read_source(tree, entry["file"]) != before or tool.applied(tree) is not None:
                yield f"{entry['id']} leaves a trace when it is taken back"
        tool.apply(mutations[0], tree)
        tool.write_source(tree, mutations[0]["file"], "something else\n")
        try:
            tool.revert(mutations[0], tree)
            yield "a file that was changed since is overwritten"
        except tool.Refused:
            pass


def faults_of_list(tool, which, mutations, kinds):
    for name, changed in broken_copies(mutations):
        if not list(tool.breaches(which, changed, kinds, lambda file: tool.read_source(".", file))):
            yield f"{TOOL}: {name} is not noticed in {which}"
    for fault in faults_of_round_trips(tool, mutations):
        yield f"{TOOL}: {fault}"


def main():
    tool = load(TOOL)
    try:
        lists, kinds = {which: tool.read_list(which) for which in tool.LISTS}, tool.read_kinds()
    except ImportError as missing:
        print(f"skipped: python3 module {missing.name} isn't installed (python3-yaml)")
        return 77
    failed = sum(tool.check(which, mutations) for which, mutations in lists.items())
    if failed:
        return 1
    for which, mutations in lists.items():
        for fault in faults_of_list(tool, which, mutations, kinds):
            print(fault)
            failed += 1
    entries = [entry for mutations in lists.values() for entry in mutations]
    for name, times in Counter(entry["id"] for entry in entries).items():
        if times > 1:
            print(f"{TOOL}: {name} stands in both lists")
            failed += 1
    for kind in kinds:
        if not any(entry["kind"] == kind for entry in entries):
            print(f"{tool.SCHEMA}: kind {kind} has no mutation")
            failed += 1
    for names in (["a.one", "b.two", "c.three"], ["c.three", "a.one", "b.two"]):
        if tool.draw(names, "4", 2) != DRAWN:
            print(f"{TOOL}: seed 4 draws {tool.draw(names, '4', 2)} of {names}, not {DRAWN}")
            failed += 1
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
