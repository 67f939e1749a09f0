#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""samples_match_schema.py SAMPLES_PROGRAM SOURCE_TREE FOLDER: what is written of a run is what results.schema.json
says, and the schema refuses an unknown key and a missing one wherever they stand."""
import copy
import json
import os
import subprocess
import sys

try:
    import jsonschema
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-jsonschema)")
    sys.exit(77)

program, tree, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
subprocess.run([program, tree, folder], check=True)
with open(os.path.join(tree, "conformance/schema/results.schema.json"), encoding="utf-8") as file:
    schema = json.load(file)
validator = jsonschema.validators.validator_for(schema)(schema)
failed = 0


def objects(value, path=()):
    """Every object of a document, with its path; the first entry stands for its array."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from objects(inner, path + (key,))
    elif isinstance(value, list) and value:
        yield from objects(value[0], path + (0,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


# One of each kind; the others are made alike.
names = ["cx6dx.json", "red.json", "pair.json", "model-e810.json"]
for name in names:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        document = json.load(file)
    for error in validator.iter_errors(document):
        print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
        failed += 1

with open(os.path.join(folder, "pair.json"), encoding="utf-8") as file:
    document = json.load(file)
# The fullest case alone.
document["cases"] = sorted(document["cases"], key=lambda case: -len(json.dumps(case)))[:1]
for path in objects(document):
    broken = copy.deepcopy(document)
    at(broken, path)["unknown_key"] = 1
    if validator.is_valid(broken):
        print(f"takes an unknown key at {path}")
        failed += 1
    for key in at(document, path):
        broken = copy.deepcopy(document)
        del at(broken, path)[key]
        if validator.is_valid(broken):
            print(f"takes a document without {path + (key,)}")
            failed += 1
print(f"{len(names)} runs, {failed} faults")
sys.exit(failed != 0)
