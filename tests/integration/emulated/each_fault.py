#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each fault that an emulated NIC can be switched to makes the case red that tests/field_reports.yaml names for it, on a
model without it and without a rule for it; and that case isn't red before.

Usage: each_fault.py VERBENA [FAULT...], in the source directory. Prints a line for each fault: its case, on which model,
and what is red. Exit code 1 where one doesn't bite, or a case is red before."""
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

REPORTS = "tests/field_reports.yaml"
# Everything that verbs has is on it, and it has no rule that would meet a fault.
WIDEST = "strict"
# Where the fault is in what a device refuses for want of it.
NARROW = {"unsupported_errno": "minimal", "errno_left_alone": "minimal", "windows_declared": "minimal",
          "atomics_refused_when_posted": "minimal"}
# Where the parameter that is left out is not enough for the case, or for one of its size.
PARAMETERS = {"sge_overrun": "held=4", "work_requests_run_out": "total=2000", "payload_after_completion": "microseconds=100000",
              "region_pages_limited": "pages=16"}


def run(verbena, model, case, fault=None):
    """Whether the case ran, and the columns that are red, as (column, verdict, why)."""
    with tempfile.TemporaryDirectory() as folder:
        words = [verbena, "conform", "--nic", model, "--case", case, "--report", folder]
        ended = subprocess.run(words + (["--fault", fault] if fault else []), capture_output=True, text=True, check=False)
        try:
            with open(os.path.join(folder, "cases.jsonl"), encoding="utf-8") as lines:
                rows = [json.loads(line) for line in lines]
        except FileNotFoundError:
            return None, ended.stderr.strip() or ended.stdout.strip()
    red = []
    ran = False
    for row in rows:
        for column in ("raw", "verbena"):
            cell = row[column]
            ran = ran or cell["verdict"] not in ("absent", "blocked", "not_run", "withheld")
            if cell["red"]:
                texts = [finding["text"] for finding in cell["findings"]] or [cell["reason"]]
                red.append((column, cell["verdict"], texts[0]))
    return ran, red


def main():
    verbena, wanted = sys.argv[1], sys.argv[2:]
    with open(REPORTS, encoding="utf-8") as file:
        switches = yaml.safe_load(file)["switches"]
    failed = bites = 0
    for switch in switches:
        name = switch["fault"]
        if wanted and name not in wanted:
            continue
        if "case" not in switch:
            print(f"{name}: no case: {switch.get('lacks') or switch.get('requirement')}")
            continue
        case, model = switch["case"], NARROW.get(name, WIDEST)
        ran, before = run(verbena, model, case)
        word = f"{name}:{PARAMETERS[name]}" if name in PARAMETERS else name
        _, after = run(verbena, model, case, word)
        wrong = []
        if ran is None or not ran:
            wrong.append(f"does not run without it: {before or 'absent'}")
        elif before:
            wrong.append(f"is red without it: {before[0][2]}")
        if not isinstance(after, list) or not after:
            wrong.append(f"is not red with it{': ' + after if after else ''}")
        failed += bool(wrong)
        bites += not wrong
        what = "; ".join(wrong) if wrong else f"{'+'.join(column for column, _, _ in after)} {after[0][1]}: {after[0][2]}"
        print(f"{'WRONG ' if wrong else ''}{word} | {model} | {case} | {what}", flush=True)
    print(f"{bites} faults bite, {failed} don't")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
