#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the command prints with -j is what its JSON schemas promise: every subcommand on a model, and every failure.

usage: output_matches_schema.py VERBENA SCHEMA_FOLDER
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3 module jsonschema isn't installed (python3-jsonschema)")
    sys.exit(77)

command, folder = sys.argv[1:3]
schemas = {}
for name in sorted(os.listdir(folder)):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        schema = json.load(file)
    maker = jsonschema.validators.validator_for(schema)
    maker.check_schema(schema)
    schemas[name.removesuffix(".schema.json")] = maker(schema)

with tempfile.TemporaryDirectory() as scratch:
    broken = os.path.join(scratch, "broken.yaml")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("schema: 1\nrules:\n  - {enable: no-such-rule, reason: a test}\n")
    qp = "rc,send_wr=512..4096,recv_wr=4096,send_sge=16,recv_sge=16,inline=256"
    # schema, exit code, arguments
    cases = [
        ("devices", 0, "devices --nic e810-roce"),
        ("devices", 0, "devices"),
        ("models", 0, "devices --models"),
        ("caps", 0, "caps --nic e810-roce,connectx5,rxe-6.12"),
        ("caps", 0, "caps --raw --nic e810-roce,erdma"),
        ("explain", 0, f"explain --nic e810-roce --qp {qp} --cq 1000 --mr 1024 --rules"),
        ("explain", 0, f"explain --nic connectx5,hip09 --qp {qp} --cq 64 --srq wr=64,sge=2,limit=8"),
        ("explain", 1, "explain --nic e810-roce --srq wr=64,sge=2 --qp rc,send_wr=1000000"),
        ("quirks-list", 0, "quirks list"),
        ("quirks-show", 0, "quirks show irdma-gen2-ring --nic e810-roce"),
        ("quirks-status", 0, "quirks status"),
        ("quirks-status", 1, "quirks status", {"VERBENA_QUIRKS": broken}),
        ("quirks-diff", 0, "quirks diff builtin builtin --nic e810-roce"),
        ("quirks-diff", 1, "quirks diff builtin quirks/examples/e810-cq-power-of-two.yaml --nic e810-roce"),
        ("quirks-lint", 0, "quirks lint --as builtin quirks"),
        ("quirks-lint", 1, f"quirks lint {broken}"),
        ("quirks-formulas", 0, "quirks formulas"),
        ("quirks-flags", 0, "quirks flags"),
        ("dump", 0, "dump --nic e810-roce"),
        ("config", 0, "config"),
        ("report-diff", 1, "report diff conformance/results/rxe-6.1.json conformance/results/rxe-6.12.json"),
        ("report-diff", 0, "report diff conformance/results/siw-6.12.json conformance/results/siw-6.12.json"),
        ("error", 2, "report diff x y"),
        ("error", 2, "ping --nic e810-roce -d rxe0"),
        ("error", 2, "explain --nic e810-roc --cq 1"),
        ("error", 2, "explain --nic ./not-there.yaml --cq 1"),
        ("error", 2, "explain --nic e810-roce"),
        ("error", 2, "explain --nic e810-roce --cq 8..4"),
        ("error", 2, "explain --nicc e810-roce --cq 4"),
        ("error", 2, "explan"),
        ("error", 2, "caps no_such_device"),
        ("error", 2, "quirks show no-such-rule"),
        ("error", 2, "quirks diff builtin ./not-there.yaml"),
        ("error", 2, "quirks lint ./not-there.yaml"),
    ]
    failed, used = 0, set()
    emulated = subprocess.run([command, "ping", "--nic", "strict"], capture_output=True, check=False).returncode == 0
    if emulated:
        cases.append(("ping", 0, "ping --nic connectx5,e810-roce"))
        cases.append(("dump", 0, "dump --trial --nic rxe-6.12"))
        cases.append(("explain", 0, "explain --nic hip09 --create --cq 64 --qp rc,send_wr=10"))
        cases.append(("devices", 0, "devices --nic hip09,erdma --live"))
        cases.append(("caps", 0, "caps --nic hip09 --live"))
    else:
        used.add("ping")  # this build has no emulated NICs
    suite = subprocess.run([command, "conform", "--list"], capture_output=True, check=False).returncode == 0
    if suite:
        cases.append(("conform-list", 0, "conform --list"))
    else:
        used.add("conform-list")  # this build has no conformance suite
    for schema, code, arguments, *more in cases:
        used.add(schema)
        environment = {**os.environ, **(more[0] if more else {})}
        ran = subprocess.run([command, *arguments.split(), "-j"], capture_output=True, text=True, env=environment,
                             check=False)
        says = f"verbena {arguments} -j"
        if ran.returncode != code:
            print(f"{says}: ended with {ran.returncode}, not {code}: {ran.stderr}")
            failed += 1
        try:
            document = json.loads(ran.stdout)
        except ValueError as error:
            print(f"{says}: prints no JSON document: {error}: {ran.stdout[:200]!r}")
            failed += 1
            continue
        for error in schemas[schema].iter_errors(document):
            print(f"{says}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
            failed += 1
        strange = copy.deepcopy(document)
        strange["strange"] = 1
        if schemas[schema].is_valid(strange):
            print(f"{schema}: takes a key that it does not name")
            failed += 1
    for left in set(schemas) - used:
        print(f"{left}: nothing is validated by it")
        failed += 1
    print(f"{len(cases)} documents against {len(schemas)} schemas")
    sys.exit(failed != 0)
