#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""conformance/expectations/*.yaml holds what its schema can't say, and each of these rules notices a breach of it.

Prints file:line of each breach, and at the end how many expectations there are of each driver."""
import copy
import fnmatch
import glob
import json
import os
import re
import sys
from collections import Counter

try:
    import yaml
except ImportError as missing:
    print(f"skipped: python3 module {missing.name} isn't installed (python3-yaml)")
    sys.exit(77)

FOLDER = "conformance/expectations"
SCHEMA = "conformance/schema/expectations.schema.json"
REQUIREMENTS = "conformance/requirements.yaml"
# Its words are the library's: tests/unit/tables/schema_test.cpp sees to that.
TABLE_SCHEMA = "quirks/schema/quirk-table.schema.json"
VERSION_KEYS = ("kernel", "firmware", "module_version", "rdma_core")
NUMBER_KEYS = ("pci_vendor", "part_id", "pci_revision", "subsystem_vendor", "subsystem_device", "hw_ver", "uverbs_abi",
               "page_size")
BOUND = re.compile(r"(<=|>=|==|=|<|>) ?([0-9]+(?:\.[0-9]+)*)$")
# What emulated NICs do whatever their driver; no driver, and no rule is for it.
EMULATED = "emulated"
DIGITS = 4
LARGEST = 1 << 64


def as_list(value):
    return value if isinstance(value, list) else [value]


def bounds(text):
    """The bounds of one word of a version range, as (operator, numbers); None where it can't be read."""
    found = []
    for word in re.findall(r"(?:<=|>=|==|=|<|>) ?\S+|\S+", text):
        bound = BOUND.match(word)
        if not bound:
            return None
        found.append((bound.group(1), tuple(int(digit) for digit in bound.group(2).split("."))))
    return found


def version_in(version, ranges):
    """A bound compares as many numbers as it has, as the library's does."""

    def holds(operator, bound):
        got = version[: len(bound)]
        return {"<": got < bound, "<=": got <= bound, ">": got > bound, ">=": got >= bound}.get(operator, got == bound)

    return any(all(holds(*bound) for bound in bounds(text) or []) for text in as_list(ranges))


def probes(*ranges):
    """Versions at, below and above each bound, so that two ranges that share one share a probe."""
    found = {(0,) * DIGITS, (99999,) * DIGITS}
    for text in [text for each in ranges for text in as_list(each)]:
        for _, bound in bounds(text) or []:
            for last in (bound[-1] - 1, bound[-1], bound[-1] + 1):
                for fill in (0, 99999):
                    found.add((*bound[:-1], last, *[fill] * (DIGITS - len(bound))))
    return found


def spans(value):
    """Numbers as (from, to) pairs."""
    for one in as_list(value):
        first, _, last = str(one).partition("-")
        yield int(first, 0), int(last or first, 0)


def meet(mine, theirs):
    """Whether a device can match both."""
    for key in set(mine) & set(theirs):
        if key in VERSION_KEYS:
            shared = any(version_in(probe, mine[key]) and version_in(probe, theirs[key])
                         for probe in probes(mine[key], theirs[key]))
        elif key in NUMBER_KEYS:
            shared = any(low <= last and first <= high for low, high in spans(mine[key])
                         for first, last in spans(theirs[key]))
        else:
            shared = bool({str(word) for word in as_list(mine[key])} & {str(word) for word in as_list(theirs[key])})
        if not shared:
            return False
    return True


def within(mine, theirs):
    """Whether each device that matches mine matches theirs; said only where that is plain."""
    for key in theirs:
        if key not in mine:
            return False
        if key in VERSION_KEYS:
            held = all(version_in(probe, theirs[key]) for probe in probes(mine[key], theirs[key])
                       if version_in(probe, mine[key]))
        elif key in NUMBER_KEYS:
            held = all(any(low <= first and last <= high for low, high in spans(theirs[key]))
                       for first, last in spans(mine[key]))
        else:
            held = {str(word) for word in as_list(mine[key])} <= {str(word) for word in as_list(theirs[key])}
        if not held:
            return False
    return True


class Known:
    """What the rest of the project says: requirements, words, and what each driver's table calls absent."""

    def __init__(self):
        with open(REQUIREMENTS, encoding="utf-8") as file:
            self.requirements = {entry["id"]: entry for entry in yaml.safe_load(file)["requirements"]}
        with open(TABLE_SCHEMA, encoding="utf-8") as file:
            rule = json.load(file)["$defs"]["rule"]["properties"]
        self.features = rule["feature"]["propertyNames"]["enum"]
        self.match_keys = set(rule["match"]["properties"]) - {"driver"}
        self.rules, self.transports = {}, {}
        for name in sorted(glob.glob("quirks/*.yaml")):
            with open(name, encoding="utf-8") as file:
                table = yaml.safe_load(file)
            for driver in as_list(table.get("driver", [])):
                self.rules.setdefault(driver, []).extend(table["rules"])
        for name in sorted(glob.glob("models/*.yaml")):
            with open(name, encoding="utf-8") as file:
                model = yaml.safe_load(file)
            driver = model.get("identity", {}).get("driver")
            for port in model.get("ports", []):
                self.transports.setdefault(driver, set()).add(port.get("transport"))

    def absent(self, driver, feature, match):
        """The rule that calls a feature absent on every device of this match, if one does."""
        for rule in self.rules.get(driver, []):
            if (rule.get("feature", {}).get(feature) == "absent" and rule.get("enabled", True) and "when" not in rule
                    and within(match, {key: value for key, value in rule.get("match", {}).items() if key != "driver"})):
                return rule["id"]
        return None


def covered(entry, requirements):
    """(pattern, ids) of each pattern that an entry names."""
    return [(pattern, fnmatch.filter(requirements, pattern)) for pattern in as_list(entry["requirement"])]


def match_breaches(match, known):
    for key, value in match.items():
        if key not in known.match_keys:
            yield f"matches '{key}', which no quirk rule can"
        elif key in VERSION_KEYS:
            for text in as_list(value):
                if not bounds(str(text)):
                    yield f"has the version range '{text}', which can't be read"
        elif key in NUMBER_KEYS:
            try:
                list(spans(value))
            except ValueError:
                yield f"has the number '{value}', which can't be read"


def native_breaches(driver, sections, known):
    if bool(sections) == (driver == EMULATED):
        yield driver, "promises what a model's driver does" if sections else "promises nothing that must be native"
    for section in sections:
        match = section.get("match", {})
        for wrong in match_breaches(match, known):
            yield driver, wrong
        if not as_list(section.get("source") or []):
            yield driver, "promises features without a source"
        for feature in section["features"]:
            if feature not in known.features:
                yield driver, f"promises '{feature}', which is no feature of a contract"
            elif rule := known.absent(driver, feature, match):
                yield driver, f"promises '{feature}', which rule {rule} calls absent"
    promised = [(feature, section.get("match", {})) for section in sections for feature in section["features"]]
    for at, (feature, match) in enumerate(promised):
        if any(feature == other and meet(match, range_) for other, range_ in promised[at + 1:]):
            yield driver, f"promises '{feature}' twice for one range"


def entry_breaches(driver, entry, known):
    """Each breach of one entry, taken alone."""
    match = entry.get("match", {})
    unread = list(match_breaches(match, known))
    yield from unread
    if not entry["id"].startswith(driver + "-"):
        yield f"begins with another word than its driver, {driver}"
    if not [source for source in as_list(entry.get("source") or []) if source.strip()]:
        yield "has no source"
    for source in as_list(entry.get("source") or []):
        if source.startswith("emulator/") and (driver not in (EMULATED, "liar") or not os.path.exists(source)):
            yield f"has the source '{source}', which is not there or not its own"
    if re.search(r"[.!?] ", entry["says"]):
        yield "says more than one sentence"
    if entry["kind"] == "absent" and "seen" in entry:
        yield "is absent, and says what is seen instead"
    if "fixed_in" in entry and entry["until"] == "open":
        yield "names what fixed it, and has no end"
    ending = re.match(r"(\w+) >= ([0-9.]+)$", entry["until"])
    if ending and not unread:
        key, version = ending.groups()
        digits = tuple(int(digit) for digit in version.split("."))
        if key not in match:
            yield f"ends with {entry['until']}, and its match does not"
        elif any(version_in((*digits, *[fill] * (DIGITS - len(digits))), match[key]) for fill in (0, 99999)):
            yield f"also matches what ends it, {entry['until']}"
    if "corrected_by" in entry and entry["corrected_by"] not in [rule["id"] for rule in known.rules.get(driver, [])]:
        yield f"is corrected by '{entry['corrected_by']}', which is no rule of the driver"
    for pattern, ids in covered(entry, known.requirements):
        if not ids:
            yield f"names '{pattern}', which is no requirement"
        for name in ids:
            requirement = known.requirements[name]
            if unread:
                continue
            for feature in requirement["needs"]:
                if rule := known.absent(driver, feature, match):
                    yield f"expects something of {name}, but rule {rule} calls {feature} absent"
            types = requirement.get("qp_types", [])
            if types and all(known.absent(driver, kind, match) for kind in types):
                yield f"expects something of {name}, but no type of queue pair that it holds for is there"
            transports = as_list(match.get("transport", sorted(known.transports.get(driver, []))))
            if transports and not set(requirement.get("transport", transports)) & set(transports):
                yield f"expects something of {name}, which holds on other transports"


def breaches(tables, known):
    """Each breach of a rule, as (driver, id, what is wrong)."""
    names = Counter(entry["id"] for table in tables.values() for entry in table["expectations"])
    for driver, table in tables.items():
        if table["driver"] != driver:
            yield driver, driver, f"is named otherwise than its file, '{table['driver']}'"
        if driver not in known.rules and driver != EMULATED:
            yield driver, driver, "has no quirk table"
        for name, wrong in native_breaches(driver, table["must_be_native"], known):
            yield driver, name, wrong
        taken = []
        for entry in table["expectations"]:
            if names[entry["id"]] > 1:
                yield driver, entry["id"], f"stands {names[entry['id']]} times"
            for wrong in entry_breaches(driver, entry, known):
                yield driver, entry["id"], wrong
            match = entry.get("match", {})
            if list(match_breaches(match, known)):
                continue
            # One sentence may be broken in several ways at once; each is an entry, told apart by what is seen.
            result = entry.get("seen", {}).get("result")
            for _, ids in covered(entry, known.requirements):
                for name in ids:
                    for other, range_, whose, seen in taken:
                        if other == name and meet(match, range_) and (seen == result or None in (seen, result)):
                            yield driver, entry["id"], f"covers {name} in a range of {whose}"
                    taken.append((name, match, entry["id"], result))


def broken_copies(tables, known):
    """One breach each, so that a rule that notices nothing is itself noticed."""
    driver = next(name for name, table in tables.items() if table["expectations"])

    def changed(**words):
        copies = copy.deepcopy(tables)
        copies[driver]["expectations"][0].update(words)
        return copies

    def added(**words):
        copies = copy.deepcopy(tables)
        first = copies[driver]["expectations"][0]
        copies[driver]["expectations"].append({**first, **words})
        return copies

    def promised(**words):
        copies = copy.deepcopy(tables)
        copies[driver]["must_be_native"].append({"features": ["rc"], "source": "a source", **words})
        return copies

    missing = next(feature for rule in known.rules[driver] for feature, word in rule.get("feature", {}).items()
                   if word == "absent" and "match" not in rule and "when" not in rule)
    needy = next((name for name, entry in known.requirements.items() if missing in entry["needs"]), None)
    elsewhere = next(name for name, entry in known.requirements.items()
                     if "transport" in entry and not set(entry["transport"]) & known.transports[driver])
    yield "an id twice", added(requirement="device.list.complete"), "times"
    yield "an id of another driver", changed(id="other-thing"), "begins with another word"
    yield "an unknown requirement", changed(requirement="nowhere.at_all"), "no requirement"
    yield "a glob of nothing", changed(requirement="nowhere.*"), "no requirement"
    yield "two for one requirement", added(id=f"{driver}-again"), "in a range of"
    family = as_list(tables[driver]["expectations"][0]["requirement"])[0].rsplit(".", 1)[0] + ".*"
    yield "a glob over another entry", added(id=f"{driver}-again", requirement=family), "in a range of"
    yield "no source", changed(source=""), "has no source"
    yield "two sentences", changed(says="One is seen. Another is seen."), "more than one sentence"
    yield "an unreadable version", changed(match={"kernel": "newish"}), "can't be read"
    yield "an unknown key", changed(match={"moon": "full"}), "which no quirk rule can"
    yield "an unreadable number", changed(match={"part_id": "some"}), "can't be read"
    yield "an end that it matches", changed(match={"kernel": ">=6.1"}, until="kernel >= 6.12"), "also matches"
    yield "an end without a range", changed(match={}, until="kernel >= 6.12"), "its match does not"
    yield "a fix without an end", changed(until="open", fixed_in="Linux 6.12"), "has no end"
    yield "an unknown rule", changed(corrected_by="no-such-rule"), "no rule of the driver"
    yield "an absent thing that is seen", changed(kind="absent", seen={"result": "refused"}), "is absent, and says"
    if needy:
        yield "a requirement of an absent feature", changed(requirement=needy, match={}), "absent"
    yield "a requirement of another transport", changed(requirement=elsewhere), "other transports"
    yield "a feature that no contract has", promised(features=["teleport"]), "no feature of a contract"
    yield "a promise of an absent feature", promised(features=[missing]), "calls absent"
    yield "a promise twice", promised(features=[tables[driver]["must_be_native"][0]["features"][0]]), "twice"
    yield "a promise without a source", promised(features=["rc"], source=[]), "without a source"
    nothing = copy.deepcopy(tables)
    nothing[driver]["must_be_native"] = []
    yield "nothing promised", nothing, "promises nothing"
    renamed = copy.deepcopy(tables)
    renamed[driver]["driver"] = "another"
    yield "another driver than the file's", renamed, "otherwise than its file"
    yield "a driver without a table", {**tables, "nobody": {**tables[driver], "driver": "nobody"}}, "no quirk table"


def main():
    known = Known()
    tables, lines = {}, {}
    for name in sorted(glob.glob(f"{FOLDER}/*.yaml")):
        driver = os.path.splitext(os.path.basename(name))[0]
        with open(name, encoding="utf-8") as file:
            text = file.read()
        tables[driver] = yaml.safe_load(text)
        lines[driver] = text.splitlines()
    if not tables:
        print(f"{FOLDER}: nothing there")
        return 1

    failed = 0
    for driver, name, wrong in breaches(tables, known):
        line = next((at for at, got in enumerate(lines[driver], 1) if got.strip() == f"- id: {name}"), 1)
        print(f"{FOLDER}/{driver}.yaml:{line}: {name} {wrong}")
        failed += 1
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)["$defs"]
    if schema["feature"]["enum"] != known.features:
        print(f"{SCHEMA}: its features are not those of {TABLE_SCHEMA}")
        failed += 1
    if set(schema["match"]["properties"]) != known.match_keys:
        print(f"{SCHEMA}: its match is not that of {TABLE_SCHEMA}")
        failed += 1
    for name, broken, rule in broken_copies(tables, known):
        if not any(rule in wrong for _, _, wrong in breaches(broken, known)):
            print(f"{FOLDER}: {name} is not noticed")
            failed += 1

    for driver, table in tables.items():
        ids = {name for entry in table["expectations"] for _, found in covered(entry, known.requirements)
               for name in found}
        native = {feature for section in table["must_be_native"] for feature in section["features"]}
        print(f"{driver}: {len(table['expectations'])} expectations of {len(ids)} requirements, "
              f"{len(native)} features must be native")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
