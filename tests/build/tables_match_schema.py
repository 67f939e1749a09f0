#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The JSON schemas that editors use accept every shipped table, model, requirement, expectation, mutation and
field report, and refuse an unknown key."""
import copy
import glob
import json
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-jsonschema, python3-yaml)")
    sys.exit(77)



class Yaml12Loader(yaml.SafeLoader):
    """YAML 1.2 as editors and the library read it: `on`, `yes` and `no` are words, a date is a word."""


Yaml12Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))

failed = 0
for schema_file, patterns in {
    "quirks/schema/quirk-table.schema.json": ["quirks/*.yaml", "quirks/examples/*.yaml"],
    "quirks/schema/model.schema.json": ["models/*.yaml"],
    "conformance/schema/requirements.schema.json": ["conformance/requirements.yaml"],
    "conformance/schema/cases.schema.json": ["conformance/cases/*.yaml"],
    "conformance/schema/expectations.schema.json": ["conformance/expectations/*.yaml"],
    "conformance/schema/mutations.schema.json": ["conformance/mutations/*.yaml"],
    "tests/field_reports.schema.json": ["tests/field_reports.yaml"],
}.items():
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.validators.validator_for(schema)(schema)
    files = sorted(name for pattern in patterns for name in glob.glob(pattern))
    if not files:
        print(f"{schema_file}: nothing to validate")
        failed += 1
    for name in files:
        with open(name, encoding="utf-8") as file:
            document = yaml.load(file, Yaml12Loader)
        for error in validator.iter_errors(document):
            print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
            failed += 1
        broken = copy.deepcopy(document)
        broken["unknown_key"] = 1
        if validator.is_valid(broken):
            print(f"{schema_file}: takes {name} with an unknown key")
            failed += 1
    print(f"{schema_file}: {len(files)} files")
sys.exit(failed != 0)
