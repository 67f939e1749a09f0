#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each RoCE model against each other one: what both have works between them (the suite's cases `pair.*`).

Usage: pair_matrix.py VERBENA [MODEL...], in the source directory; models left out: all of RoCE, without their variants,
where VERBENA_CHECK_FULL is set, else one of each kind.
Prints a table, the device under test down and the other end across: how many cases hold (conform, or are degraded), how
many differ as the tables say, and in brackets those that don't apply. `RED` and a line below for each that is red.
Exit code 1 where one is red, 77 where PyYAML is missing."""
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-yaml)")
    sys.exit(77)


KINDS = ["connectx5", "e810-roce", "hip09", "rxe-6.12", "strict"]


def of_roce():
    """Names of the shipped models whose first port is RoCE, and that make queue pairs of RC."""
    names = []
    for path in sorted(glob.glob("models/*.yaml")):
        with open(path, encoding="utf-8") as file:
            model = yaml.safe_load(file)
        ports = model.get("ports") or [{}]
        types = (model.get("creation") or {}).get("qp", {}).get("types")
        if ports[0].get("transport") == "roce2" and (types is None or "rc" in types):
            names.append(os.path.basename(path)[:-len(".yaml")])
    return names


def run(verbena, one, other):
    """The rows of cases.jsonl, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([verbena, "conform", "--nic", one, "--other", other, "--case", "pair.*", "--report", folder],
                               capture_output=True, text=True, check=False)
        try:
            with open(os.path.join(folder, "cases.jsonl"), encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]
        except FileNotFoundError:
            return ended.stderr.strip() or ended.stdout.strip()


def cell_of(rows, one, other, red):
    """The text of a cell; what is red goes into `red`."""
    if isinstance(rows, str):
        red.append(f"{one} with {other}: {rows}")
        return "RED"
    holds = differs = absent = 0
    before = len(red)
    for row in rows:
        for column in ("raw", "verbena"):
            cell = row[column]
            if cell["red"]:
                texts = [finding["text"] for finding in cell["findings"]] or [cell["reason"]]
                red.append(f"{one} with {other}: {row['id']} ({column}): {cell['verdict']}: {texts[0]}")
            elif cell["verdict"] in ("conforms", "degraded"):
                holds += 1
            elif cell["verdict"] == "deviates":
                differs += 1
            else:
                absent += 1
    return "RED" if len(red) > before else f"{holds}+{differs} ({absent})"


def main():
    verbena, wanted = sys.argv[1], sys.argv[2:]
    models = wanted or (of_roce() if os.environ.get("VERBENA_CHECK_FULL") else KINDS)
    red = []
    print("| | " + " | ".join(models) + " |")
    print("|---" * (len(models) + 1) + "|")
    for one in models:
        cells = ["" if one == other else cell_of(run(verbena, one, other), one, other, red) for other in models]
        print(f"| {one} | " + " | ".join(cells) + " |", flush=True)
    for line in red:
        print(line)
    pairs = len(models) * (len(models) - 1)
    print(f"{len(models)} models, {pairs} pairs, {len(red)} red")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
