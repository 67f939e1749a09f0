#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""tests/field_reports.yaml names only models, rules, cases, requirements and tests that exist, the models have what it
says of them, docs/models.md has its faults, and each of these rules notices a breach of it.

Prints file:line of each breach, and at the end how many reports there are by kind and how many are emulated."""
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

REPORTS = "tests/field_reports.yaml"
MODEL_SCHEMA = "quirks/schema/model.schema.json"
DOCS = "docs/models.md"
LEAST_EMULATED = 35
# Every report of these kinds has an entry.
REPORTS_BY_KIND = {
    "CAP": "F01 F03 F05 F07 F09 F12 F13 F15 F17 F19 F21 F23",
    "INL": "F25 F27 F29 F31 F33",
    "FEAT": "F35 F37 F39 F41 F43 F45 F47 F49",
    "MR": "F51 F53 F55 F56 F59 F61 F63 F65 F67",
    "STATE": "F83 F85 F87 F89 F91 F93 F95",
    "TIMER": "F97 F99 F101",
    "WC": "F109 F111 F113 F115",
}
# A public thread (repository #number), a list message by date, a commit, or a file of a public tree.
PUBLIC = re.compile(r"[\w.-]+/[\w.-]+ #\d+|list \d{4}-\d\d-\d\d|rdma-core [0-9a-f]{9}\b|(Linux [\d.]+|rdma-core) \w+/\w+")


class WordLoader(yaml.SafeLoader):
    """YAML as the library reads it: yes, no and dates are words."""


WordLoader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(name):
    with open(name, encoding="utf-8") as file:
        return yaml.load(file, WordLoader)


def overlaid(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: overlaid(base[key], value) if key in base else value for key, value in over.items()}


def all_models():
    """Each model and model@variant, with what a variant changes put in place."""
    found = {}
    for name in glob.glob("models/*.yaml"):
        model = load(name)
        found[model["model"]] = model
        for variant, change in model.get("variants", {}).items():
            found[f"{model['model']}@{variant}"] = overlaid(model, change)
    return found


def documented():
    """The rows of the table of faults in the documentation, by name: parameters and case."""
    with open(DOCS, encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", text, re.M)
    return {fault: [cell.replace("`", "").strip() for cell in cells] for fault, *cells in rows}


def row_of(switch, known):
    """The cells that the documentation has for a switch, behind its name."""
    bounds = known.faults[switch["fault"]]
    parameters = [f"{name}: {bounds[name]['default']}" for name in switch["parameters"] if name in bounds]
    case = switch.get("case") or (f"{switch['requirement']} (no case yet)" if "requirement" in switch else "none yet")
    return [", ".join(parameters) or "none", switch["does"].replace("`", ""), ", ".join(switch["touches"]), case]


class Known:
    def __init__(self):
        with open(MODEL_SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)["$defs"]
        self.faults = {
            name: body["properties"] for name, body in schema["fault_with_parameters"]["properties"].items()
        }
        self.behaviours = set(schema["behaviours"]["propertyNames"]["enum"])
        self.choices = set(schema["behaviours"]["additionalProperties"]["enum"])
        self.features = set(schema["features"]["propertyNames"]["enum"])
        self.models = all_models()
        self.rules = {rule["id"] for name in glob.glob("quirks/*.yaml") for rule in load(name)["rules"]}
        covers = [(case, of) for name in glob.glob("conformance/cases/*.yaml")
                  for _, _, case, of in listed({"": load(name)})]
        self.cases = {case for case, _ in covers}
        self.covered = {one for _, of in covers for one in of}
        self.requirements = {entry["id"] for entry in load("conformance/requirements.yaml")["requirements"]}
        self.tests = set()
        for name in glob.glob("tests/**/*.cpp", recursive=True):
            with open(name, encoding="utf-8") as file:
                self.tests |= {".".join(pair) for pair in
                               re.findall(r"^(?:RC_GTEST_PROP|TEST(?:_[FP])?)\(\s*(\w+),\s*(\w+)", file.read(), re.M)}
        self.docs = documented()


def faults_of(model):
    return {next(iter(one)) if isinstance(one, dict) else one for one in model.get("faults", [])}


def at_path(tree, path):
    for key in path.split("."):
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


def has(model, name, shown):
    if "fault" in shown:
        return shown["fault"] in faults_of(model)
    if "behaviour" in shown:
        return model.get("behaviours", {}).get(shown["behaviour"]) == shown["choice"]
    if "feature" in shown:
        return model.get("features", {}).get(shown["feature"]) == shown["support"]
    if "creation" in shown:
        return at_path(model.get("creation", {}), shown["creation"]) is not None
    if "cap" in shown:
        return any(shown["cap"] in part for part in [model["caps"], *model["ports"]])
    return "variant" in shown and name.endswith("@" + shown["variant"])


def breaches_of_switches(switches, known):
    for fault, times in Counter(entry["fault"] for entry in switches).items():
        if times > 1:
            yield fault, f"stands {times} times"
    for fault in set(known.faults) - {entry["fault"] for entry in switches}:
        yield fault, "is a fault that a model may name, and is not in the list of switches"
    for entry in switches:
        fault = entry["fault"]
        if fault not in known.faults:
            yield fault, "is no fault that a model may name"
            continue
        if set(entry["parameters"]) != set(known.faults[fault]):
            yield fault, f"has the parameters {', '.join(known.faults[fault]) or 'none'}"
        if "case" in entry and entry["case"] not in known.cases:
            yield fault, f"turns '{entry['case']}' red, which is no case"
        if "requirement" in entry and entry["requirement"] not in known.requirements:
            yield fault, f"breaks '{entry['requirement']}', which is no requirement"
        if "requirement" in entry and entry["requirement"] in known.covered:
            yield fault, f"breaks '{entry['requirement']}', which has a case by now"
        if not PUBLIC.search(entry["source"]):
            yield fault, "has no source that anyone can look up"
        if known.docs.get(fault) != row_of(entry, known):
            yield fault, f"is not so in {DOCS}: | `{fault}` | {' | '.join(row_of(entry, known))} |"


def breaches_of_shown(report, shown, known):
    name = report["report"]
    if "fault" in shown:
        allowed = known.faults.get(shown["fault"])
        if allowed is None:
            yield name, f"is shown by '{shown['fault']}', which is no fault"
            return
        for key, value in shown.get("parameters", {}).items():
            bounds = allowed.get(key)
            if bounds is None:
                yield name, f"gives {shown['fault']} the parameter '{key}', which it does not have"
            elif "enum" in bounds and value not in bounds["enum"]:
                yield name, f"gives {shown['fault']} the {key} '{value}', which is none of {', '.join(bounds['enum'])}"
            elif "enum" not in bounds and not (
                isinstance(value, int) and bounds["minimum"] <= value <= bounds["maximum"]
            ):
                yield name, f"gives {shown['fault']} the {key} {value}, which is outside its bounds"
    elif "behaviour" in shown and (shown["behaviour"] not in known.behaviours or shown["choice"] not in known.choices):
        yield name, f"is shown by {shown['behaviour']}: {shown['choice']}, which is no behaviour"
    elif "feature" in shown and shown["feature"] not in known.features:
        yield name, f"is shown by '{shown['feature']}', which is no feature"
    elif "specified" in shown and shown["specified"] not in known.cases:
        yield name, f"is shown by '{shown['specified']}', which is no case"
    if not {"fault", "specified"} & set(shown) and not report["models"]:
        yield name, "is shown by what models say of themselves, and names no model"
    if not {"fault", "specified", "behaviour"} & set(shown):
        for model in report["models"]:
            if model in known.models and not has(known.models[model], model, shown):
                yield name, f"says that {model} has {', '.join(shown.values())}, which the model does not say"


def breaches_of_reports(reports, known):
    wanted = {(kind, name) for kind, names in REPORTS_BY_KIND.items() for name in names.split()}
    there = Counter((entry["kind"], entry["report"]) for entry in reports)
    for kind, name in wanted - set(there):
        yield name, f"of kind {kind} has no entry"
    for (kind, name), times in there.items():
        if (kind, name) not in wanted:
            yield name, f"is no report of kind {kind}"
        if times > 1:
            yield name, f"stands {times} times"
    for text, times in Counter(entry["says"] for entry in reports).items():
        if times > 1:
            yield next(entry["report"] for entry in reports if entry["says"] == text), "says what another says"
    for entry in reports:
        name = entry["report"]
        if re.search(r"[.!?] ", entry["says"]):
            yield name, "says more than one sentence"
        if not PUBLIC.search(entry["source"]):
            yield name, "has no source that anyone can look up"
        for shown in entry.get("switch", []):
            yield from breaches_of_shown(entry, shown, known)
        for model in entry.get("models", []):
            if model not in known.models:
                yield name, f"names '{model}', which is no model"
            elif not any(has(known.models[model], model, shown) for shown in entry["switch"]):
                yield name, f"says that {model} has it, which the model does not say"
        if entry["remedy"] == "none" and "met_by" in entry:
            yield name, "has no remedy and is met all the same"
        met = entry.get("met_by", {})
        if set(met) == {"partly"}:
            yield name, "is met by nothing that is named"
        for key, of, what in (
            ("rules", known.rules, "rule"), ("cases", known.cases, "case"), ("tests", known.tests, "test")
        ):
            for one in met.get(key, []):
                if one not in of:
                    yield name, f"is met by '{one}', which is no {what}"
    emulated = sum(entry["emulated"] == "yes" for entry in reports)
    if emulated < LEAST_EMULATED:
        yield "reports", f"of which {emulated} are emulated; {LEAST_EMULATED} is the least"


def breaches(table, known):
    yield from breaches_of_switches(table["switches"], known)
    yield from breaches_of_reports(table["reports"], known)


def broken_copies(table):
    """One breach each, so that a rule that notices nothing is itself noticed."""

    def report(name):
        return next(at for at, entry in enumerate(table["reports"]) if entry["report"] == name)

    def changed(part, at, change):
        broken = copy.deepcopy(table)
        broken[part][at].update(change)
        return broken

    first = next(at for at, entry in enumerate(table["switches"]) if "case" in entry)
    uncased = next(at for at, entry in enumerate(table["switches"]) if "requirement" in entry)
    yield "a fault twice", {**table, "switches": table["switches"] + [table["switches"][0]]}
    yield "a fault left out", {**table, "switches": table["switches"][1:]}
    for name, at, change in (
        ("an unknown fault", first, {"fault": "flush_lots"}),
        ("a parameter too many", first, {"parameters": ["extra", "another"]}),
        ("a case that isn't there", first, {"case": "qp.create.nowhere"}),
        ("a requirement that isn't there", uncased, {"requirement": "event.device.nowhere"}),
        ("a requirement that has a case", uncased, {"requirement": "event.qp.access_err"}),
        ("a switch without a public source", first, {"source": "somebody said so"}),
        ("another sentence than the documentation's", first, {"does": "does something else"}),
        ("another case than the documentation's", first, {"case": "qp.create.recv_wr_at_declared"}),
    ):
        yield name, changed("switches", at, change)
    yield "a report twice", {**table, "reports": table["reports"] + [table["reports"][0]]}
    yield "a report left out", {**table, "reports": table["reports"][1:]}
    by_fault, by_behaviour = report("F05"), report("F45")
    for name, at, change in (
        ("a report of another kind", by_fault, {"kind": "WC"}),
        ("a sentence twice", by_fault, {"says": table["reports"][by_behaviour]["says"]}),
        ("two sentences", by_fault, {"says": "One fails. Another fails."}),
        ("a report without a public source", by_fault, {"source": "somebody said so"}),
        ("a switch that isn't there", by_fault, {"switch": [{"fault": "flush_lots"}]}),
        ("a parameter that a fault hasn't", by_fault, {"switch": [{"fault": "sge_overrun", "parameters": {"of": 1}}]}),
        ("a number outside its bounds", by_fault, {"switch": [{"fault": "sge_overrun", "parameters": {"held": 0}}]}),
        ("a word that a parameter does not take", by_fault,
         {"models": [], "switch": [{"fault": "unsupported_errno", "parameters": {"errno": "EIO"}}]}),
        ("a behaviour that isn't there", by_behaviour, {"switch": [{"behaviour": "humour", "choice": "yes"}]}),
        ("a feature that isn't there", report("F35"), {"switch": [{"feature": "teleport", "support": "absent"}]}),
        ("a key that creation lacks", report("F25"), {"switch": [{"creation": "qp.nothing"}]}),
        ("a specified case that isn't there", report("F97"), {"switch": [{"specified": "error.rnr.nowhere"}]}),
        ("what models say, without a model", by_behaviour, {"models": []}),
        ("a model that isn't there", by_fault, {"models": ["connectx99"]}),
        ("a variant that isn't there", by_fault, {"models": ["bnxt-p7@kernel-9.9"]}),
        ("a model without the fault", by_fault, {"models": ["connectx5"]}),
        ("a model without the behaviour", by_behaviour, {"models": ["connectx5"]}),
        ("a remedy of none that is there", by_fault, {"remedy": "none"}),
        ("nothing that meets it", by_fault, {"met_by": {"partly": "in spirit"}}),
        ("a rule that isn't there", by_fault, {"met_by": {"rules": ["no-such-rule"]}}),
        ("a case of a report that isn't there", by_fault, {"met_by": {"cases": ["qp.create.nowhere"]}}),
        ("a test that isn't there", by_fault, {"met_by": {"tests": ["FieldReport.F99Nowhere"]}}),
    ):
        yield name, changed("reports", at, change)
    yield "too few that are emulated", {
        **table, "reports": [{**entry, "emulated": "no"} for entry in table["reports"]]
    }


def main():
    table, known = load(REPORTS), Known()
    with open(REPORTS, encoding="utf-8") as file:
        lines = file.read().splitlines()
    failed = 0
    for name, wrong in breaches(table, known):
        line = next((at for at, got in enumerate(lines, 1) if got.strip() in (f"- report: {name}", f"- fault: {name}")), 1)
        print(f"{REPORTS}:{line}: {name} {wrong}")
        failed += 1
    for fault in set(known.docs) & set(known.faults) ^ set(known.faults):
        print(f"{DOCS}:1: its table of faults lacks {fault}")
        failed += 1
    before = set(breaches(table, known))
    for name, broken in broken_copies(table):
        if not set(breaches(broken, known)) - before:
            print(f"{REPORTS}: {name} is not noticed")
            failed += 1

    def counted(key, of):
        return ", ".join(f"{word} {times}" for word, times in Counter(entry[key] for entry in of).items())

    reports = table["reports"]
    emulated = [entry for entry in reports if entry["emulated"] == "yes"]
    print(f"{len(table['switches'])} switches; {len(reports)} reports ({counted('kind', reports)})")
    print(f"{len(emulated)} emulated ({counted('kind', emulated)})")
    print(f"remedies: {counted('remedy', reports)}; met today {sum('met_by' in entry for entry in reports)}, of them "
          f"{sum('partly' in entry.get('met_by', {}) for entry in reports)} in part")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
