#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""conformance/cases/*.yaml hold what their schema can't say, and each of these rules notices a breach of it.

Prints file:line of each breach, and at the end how many cases there are and how many requirements they cover."""
import copy
import glob
import itertools
import os
import re
import sys
from collections import Counter

try:
    import yaml
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-yaml)")
    sys.exit(77)

FOLDER = "conformance/cases"
REQUIREMENTS = "conformance/requirements.yaml"
# Of the requirements, how many percent must have a case.
LEAST_COVERED = 90


def load(name):
    with open(name, encoding="utf-8") as file:
        return yaml.safe_load(file)


def filled(text, row):
    for key, value in row.items():
        text = text.replace("{" + key + "}", str(value))
    return text


def rows(entry):
    each = entry.get("each", {})
    for values in itertools.product(*(value if isinstance(value, list) else [value] for value in each.values())):
        yield dict(zip(each, values))


def listed(tables):
    """Each case as (area, entry, id, covers)."""
    for area, table in tables.items():
        for entry in table["cases"]:
            for row in rows(entry):
                name = filled(entry["id"], row)
                covers = entry.get("covers", [name])
                covers = [covers] if isinstance(covers, str) else covers
                yield area, entry, name, [filled(one, row) for one in covers]


def breaches(tables, requirements, proofs):
    """Each breach of a rule, as (area, id as written, what is wrong)."""
    names = Counter(name for _, _, name, _ in listed(tables))
    for area, table in tables.items():
        if table["area"] != area:
            yield area, "", f"the area is '{table['area']}', and the file is called {area}"
        for entry in table["cases"]:
            for key, values in entry.get("each", {}).items():
                if isinstance(values, list) and len(values) > 1 and "{" + key + "}" not in entry["id"]:
                    yield area, entry["id"], f"the id does not name '{key}', which differs from row to row"
    for area, entry, name, covers in listed(tables):
        if names[name] > 1:
            yield area, entry["id"], f"'{name}' stands {names[name]} times"
        if not name.startswith(area + ".") or not re.fullmatch(r"[a-z0-9_+-]+(\.[a-z0-9_+-]+)+", name):
            yield area, entry["id"], f"'{name}' is no dotted id that begins with the area"
        if not covers and not entry.get("source"):
            yield area, entry["id"], "covers no requirement and has no source"
        for one in covers:
            if one not in requirements:
                yield area, entry["id"], f"covers '{one}', which is no requirement"
        if "says" not in entry and name not in requirements:
            yield area, entry["id"], "says nothing"
        if re.search(r"[.!?] ", re.sub(r"\b(e\.g|i\.e)\. ", "", entry.get("says", ""))):
            yield area, entry["id"], "says more than one sentence"
    for proof, rule in proofs.items():
        if proof not in names:
            yield "", proof, f"is the proof of rule {rule}, and no case"


def broken_copies(tables):
    """One breach each, so that a rule that notices nothing is itself noticed."""
    area = next(iter(tables))

    def added(**words):
        copies = copy.deepcopy(tables)
        entry = {"id": f"{area}.a.new_one", "says": "One sentence.", "covers": [next(listed(tables))[3][0]], **words}
        copies[area]["cases"].append({key: value for key, value in entry.items() if value is not None})
        return copies

    yield "an id twice", added(id=next(listed(tables))[2]), "times"
    yield "an id of another area", added(id="nowhere.at_all"), "no dotted id"
    yield "a broken id", added(id=f"{area}.A b"), "no dotted id"
    yield "a case of no requirement", added(covers=["nowhere.at_all"]), "no requirement"
    yield "a case that covers nothing", added(covers=[]), "covers no requirement"
    yield "a row that its id does not name", added(each={"type": ["rc", "uc"]}), "differs from row to row"
    yield "rows of one id", added(id=area + ".{type}", each={"type": ["a", "a"]}), "times"
    yield "a case without a sentence", added(says=None), "says nothing"
    yield "two sentences", added(says="One holds. Another holds."), "more than one sentence"
    renamed = copy.deepcopy(tables)
    renamed[area]["area"] = "another"
    yield "another area than the file's", renamed, "the file is called"


def main():
    requirements = {entry["id"] for entry in load(REQUIREMENTS)["requirements"]}
    proofs = {rule["proof"]: rule["id"] for name in sorted(glob.glob("quirks/*.yaml"))
              for rule in load(name).get("rules", []) if "proof" in rule}
    tables, lines = {}, {}
    for name in sorted(glob.glob(f"{FOLDER}/*.yaml")):
        area = os.path.splitext(os.path.basename(name))[0]
        tables[area] = load(name)
        with open(name, encoding="utf-8") as file:
            lines[area] = file.read().splitlines()
    if not tables:
        print(f"{FOLDER}: nothing there yet")
        return LEAST_COVERED != 0

    failed = 0
    for area, name, wrong in breaches(tables, requirements, proofs):
        line = next((at for at, got in enumerate(lines.get(area, []), 1) if got.strip() == f"- id: {name}"), 1)
        print(f"{FOLDER}/{area}.yaml:{line}: {name} {wrong}" if area else f"quirks: {name} {wrong}")
        failed += 1
    for name, changed, rule in broken_copies(tables):
        if not any(rule in wrong for _, _, wrong in breaches(changed, requirements, {})):
            print(f"{FOLDER}: {name} is not noticed")
            failed += 1
    cases = list(listed(tables))
    covered = {one for _, _, _, covers in cases for one in covers} & requirements
    percent = 100 * len(covered) // len(requirements)
    if percent < LEAST_COVERED:
        print(f"{FOLDER}: {percent}% of the requirements have a case, {LEAST_COVERED}% is the least")
        failed += 1
    if "-v" in sys.argv:
        for one in sorted(requirements - covered):
            print(f"without a case: {one}")
    print(f"{len(cases)} cases in {len(tables)} areas; {len(covered)} of {len(requirements)} requirements ({percent}%) "
          "have one")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
