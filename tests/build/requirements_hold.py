#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""conformance/requirements.yaml holds what its schema can't say, and each of these rules notices a breach of it.

Prints file:line of each breach, and at the end how many requirements there are and how many have a case."""
import copy
import glob
import json
import re
import sys
from collections import Counter

try:
    import yaml
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-yaml)")
    sys.exit(77)

from cases_hold import listed

REQUIREMENTS = "conformance/requirements.yaml"
SCHEMA = "conformance/schema/requirements.schema.json"
# Its words are the library's: tests/unit/tables/schema_test.cpp sees to that.
TABLE_SCHEMA = "quirks/schema/quirk-table.schema.json"
LEAST_REQUIREMENTS = 250

# Who demands a requirement is whose page or file stands first in its source.
OWNERS = {
    "man_page": r"rdma-core man page ",
    "library": r"rdma-core (libibverbs|librdmacm)/",
    "specification": r"(InfiniBand specification, |RFC \d+, |RDMA Protocol Verbs )",
    "kernel_core": r"Linux (core|include)/",
    "driver": r"(Linux (sw|hw)/|rdma-core providers/)",
}
# A clause number (C9-88, o10-36.2.2, oA19-28) can be looked up; a topic needs a source beside it that anyone can read.
CLAUSE = re.compile(r"\b[Co]A?\d+-\d+")


def sources(entry):
    source = entry.get("source", [])
    return [source] if isinstance(source, str) else source


def breaches(requirements, cases, words):
    """Each breach of a rule, as (id, what is wrong)."""
    for field in ("id", "number", "says"):
        for value, times in Counter(entry[field] for entry in requirements).items():
            if times > 1:
                owner = next(entry["id"] for entry in requirements if entry[field] == value)
                yield owner, f"{field} '{value}' stands {times} times"
    for entry in requirements:
        name = entry["id"]
        if name.split(".")[0] != entry["area"]:
            yield name, f"starts with another word than its area, {entry['area']}"
        for word in entry["needs"]:
            if word not in words["feature"]:
                yield name, f"needs '{word}', which is no feature of a contract"
        for word in entry.get("transport", []):
            if word not in words["transport"]:
                yield name, f"'{word}' is no transport"
        if set(entry.get("qp_types", [])) & set(entry["needs"]):
            yield name, "names a type of queue pair in both needs and qp_types"
        if re.search(r"[.!?;] ", re.sub(r"\b(e\.g|i\.e)\. ", "", entry["says"])):
            yield name, "says more than one sentence"
        if not sources(entry):
            yield name, "has no source"
            continue
        first = sources(entry)[0]
        if not re.match(OWNERS[entry["by"]], first):
            yield name, f"is demanded by {entry['by']}, but its first source is '{first}'"
        if first.startswith("InfiniBand") and not CLAUSE.search(first) and len(sources(entry)) == 1:
            yield name, "names a topic of the specification and no source beside it that anyone can read"
    known = {entry["id"] for entry in requirements}
    for case, covered in cases:
        for name in covered:
            if name not in known:
                yield name, f"is covered by case {case}, and is no requirement"


def broken_copies(requirements):
    """One breach each, so that a rule that notices nothing is itself noticed."""
    first = requirements[0]
    for name, change in {
        "an id twice": {"number": 1000001, "says": "Another sentence."},
        "a number twice": {"id": f"{first['area']}.another", "says": "Another sentence."},
        "a sentence twice": {"id": f"{first['area']}.another", "number": 1000001},
    }.items():
        yield name, requirements + [{**first, **change}], []
    for name, change in {
        "an id of another area": {"id": "nowhere.at_all"},
        "a feature that no contract has": {"needs": ["teleport"]},
        "an unknown transport": {"transport": ["carrier_pigeon"]},
        "a type named twice": {"needs": ["rc"], "qp_types": ["rc", "uc"]},
        "two sentences": {"says": "One holds. Another holds."},
        "no source": {"source": []},
        "another owner": {"by": "driver", "source": "rdma-core man page ibv_poll_cq(3)"},
        "a topic alone": {"by": "specification", "source": "InfiniBand specification, volume 1, fence"},
    }.items():
        changed = copy.deepcopy(requirements)
        changed[0].update(change)
        yield name, changed, []
    yield "a case of no requirement", requirements, [("some.case", ["nowhere.at_all"])]


def main():
    with open(REQUIREMENTS, encoding="utf-8") as file:
        text = file.read()
    requirements = yaml.safe_load(text)["requirements"]
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)["$defs"]
    with open(TABLE_SCHEMA, encoding="utf-8") as file:
        rule = json.load(file)["$defs"]["rule"]["properties"]
    words = {
        "feature": rule["feature"]["propertyNames"]["enum"],
        "transport": rule["match"]["properties"]["transport"]["oneOf"][0]["enum"],
    }
    cases = []
    for name in sorted(glob.glob("conformance/cases/*.yaml")):
        with open(name, encoding="utf-8") as file:
            cases += [(case, covers) for _, _, case, covers in listed({"": yaml.safe_load(file)})]

    failed = 0
    lines = text.splitlines()
    for name, wrong in breaches(requirements, cases, words):
        line = next((at for at, got in enumerate(lines, 1) if got.strip() == f"- id: {name}"), 1)
        print(f"{REQUIREMENTS}:{line}: {name} {wrong}")
        failed += 1
    if schema["feature"]["enum"] != words["feature"]:
        print(f"{SCHEMA}: its features are not those of {TABLE_SCHEMA}")
        failed += 1
    areas = schema["requirement"]["properties"]["area"]["enum"]
    for area in areas:
        if not any(entry["area"] == area for entry in requirements):
            print(f"{REQUIREMENTS}:1: area {area} has no requirement")
            failed += 1
    if len(requirements) < LEAST_REQUIREMENTS:
        print(f"{REQUIREMENTS}:1: {len(requirements)} requirements, {LEAST_REQUIREMENTS} is the least")
        failed += 1
    for name, changed, covering in broken_copies(requirements):
        if not list(breaches(changed, cases + covering, words)):
            print(f"{REQUIREMENTS}: {name} is not noticed")
            failed += 1

    covered = {name for _, names in cases for name in names}
    print(f"{len(requirements)} requirements in {len(areas)} areas, {len(covered)} of them covered by a case")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
