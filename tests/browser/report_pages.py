#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report_pages.py SAMPLES_PROGRAM SOURCE_TREE FOLDER: what a reader of the conformance reports sees and can do, in a
headless Chromium. Leaves screenshots in FOLDER. Exit code 77: Chromium is not here, and the output says so."""
import json
import os
import subprocess
import sys
import time
import unittest

from chromium import Chromium, Refused

SAMPLES, TREE, FOLDER = sys.argv[1:4] if len(sys.argv) >= 4 else sys.exit(__doc__)
browser = None

PANEL = "document.querySelector('dialog')"
OPENED = f"{PANEL}.open ? {PANEL}.querySelector('h2').textContent : null"
ROWS = "[...document.querySelectorAll('.grid tr.case code')].map(code => code.textContent)"
FOCUS = "(cell => [cell.tagName, (cell.parentElement.dataset || {}).key, [...cell.parentElement.children].indexOf(cell)])(document.activeElement)"


def page(name):
    return os.path.join(FOLDER, f"{name}.html")


def run(name):
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


def shown(selector):
    return browser.ask(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText")


class Page(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(browser.complaints(), [])

    def becomes(self, expression, wanted):
        """The page comes to say so; closing a dialog and following a link take their time."""
        until = time.monotonic() + 20
        while (found := browser.ask(expression)) != wanted and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(found, wanted)

    def picture(self, name):
        file = os.path.join(FOLDER, f"{name}.png")
        browser.screenshot(file)
        self.assertGreater(os.path.getsize(file), 10_000)


class RunPage(Page):
    def test_says_first_whether_it_is_red_and_why(self):
        browser.open(page("red"))
        text = shown("#outcome")
        self.assertIn("Red: 6 reasons", text)
        for why in run("red")["why_red"]:
            self.assertIn(why, text)
        browser.open(page("rxe-6.12"))
        self.assertIn("Not red", shown("#outcome"))

    def test_counts_each_area_on_both_sides(self):
        browser.open(page("rxe-6.12"))
        cases = [case for case in run("rxe-6.12")["cases"] if case["area"] == "state"]
        cells = browser.ask("[...document.querySelectorAll('[data-key=\"area state\"] td')].map(cell => cell.textContent)")
        self.assertIn(f"{len(cases)} cases", cells[0])
        for cell, side in zip(cells[1:], ("raw", "verbena")):
            for verdict in {case[side]["verdict"] for case in cases}:
                count = sum(case[side]["verdict"] == verdict for case in cases)
                self.assertIn(f"{count} {verdict}", cell)

    def test_is_used_by_keyboard_alone(self):
        browser.open(page("rxe-6.12"))
        # Tab reaches the cells, arrows go through them, Enter opens an area and then a case.
        for _ in range(40):
            browser.press("Tab")
            if browser.ask(FOCUS)[0] == "TD":
                break
        self.becomes(FOCUS, ["TD", "area device", 0])
        self.becomes(ROWS, [])
        browser.press("Enter")
        rows = browser.ask(ROWS)
        self.assertEqual(len(rows), sum(case["area"] == "device" for case in run("rxe-6.12")["cases"]))
        browser.press("ArrowDown", "ArrowDown", "ArrowRight")
        self.becomes(FOCUS, ["TD", rows[1], 1])
        browser.press("Enter")
        self.becomes(OPENED, rows[1])
        browser.press("n")
        self.becomes(OPENED, rows[2])
        browser.press("p", "p")
        self.becomes(OPENED, rows[0])
        # Escape closes, and one is where one was.
        browser.press("Escape")
        self.becomes(OPENED, None)
        self.becomes(FOCUS, ["TD", rows[0], 1])
        # To the left: from a case to its area, which then closes.
        browser.press("ArrowLeft", "ArrowLeft")
        self.becomes(FOCUS, ["TD", "area device", 0])
        browser.press("ArrowLeft")
        self.becomes(ROWS, [])
        browser.press("End")
        self.becomes(FOCUS, ["TD", "area device", 2])

    def test_filters_by_word_and_says_how_many_are_left(self):
        browser.open(page("rxe-6.12"))
        browser.press("/")
        self.becomes("document.activeElement.id", "search")
        browser.press(*"rxe-bind-error")
        wanted = [case["id"] for case in run("rxe-6.12")["cases"] if "rxe-bind-error" in case["raw"]["expectations"]]
        self.assertTrue(wanted)
        self.becomes(ROWS, wanted)
        self.assertIn(f"{len(wanted)} of", shown("#shown"))
        browser.press("Enter", "ArrowDown", "Enter")
        self.becomes(OPENED, wanted[0])
        browser.press("Escape")
        self.becomes(OPENED, None)
        browser.press("/", "Escape")
        self.becomes(ROWS, [])
        browser.press(*"violates missing")
        self.becomes(ROWS, [])
        browser.open(page("red"))
        browser.press("/", *"violates missing")
        self.becomes(ROWS, [case["id"] for case in run("red")["cases"] if case["raw"]["verdict"] == "violates"])
        browser.press(*"no such case")
        self.assertIn("No case matches", shown(".grid"))

    def test_filters_by_verdict_and_by_red(self):
        browser.open(page("red"))
        cases = run("red")["cases"]
        chip = "document.querySelector('[data-chip=\"%s\"]')"
        browser.ask(chip % "deviates" + ".focus()")
        browser.press("Enter")
        self.assertEqual(browser.ask(chip % "deviates" + ".getAttribute('aria-pressed')"), "true")
        self.assertEqual(len(browser.ask(ROWS)), sum("deviates" in (case["raw"]["verdict"], case["verbena"]["verdict"]) for case in cases))
        browser.press("Enter")
        browser.ask(chip % "red" + ".click()")
        self.assertEqual(sorted(browser.ask(ROWS)), sorted(case["id"] for case in cases if case["raw"]["red"] or case["verbena"]["red"]))

    def test_a_case_shows_all_that_is_known_of_it(self):
        of = run("rxe-6.12")
        case = next(case for case in of["cases"] if case["raw"]["findings"] and case["raw"]["expectations"])
        browser.open(page("rxe-6.12"), "#" + case["id"])
        self.becomes(OPENED, case["id"])
        text = shown("dialog")
        entry = next(entry for entry in of["expectations"] if entry["id"] == case["raw"]["expectations"][0])
        for part in (case["says"], case["raw"]["findings"][0]["text"], entry["id"], entry["reason"], entry["source"][0]):
            self.assertIn(part, text)
        case = next(case for case in of["cases"] if case["verbena"]["adjustments"])
        browser.open(page("rxe-6.12"), "#" + case["id"])
        adjustment = case["verbena"]["adjustments"][0]
        text = shown("dialog")
        for part in ("field", "asked", "granted", "kind", "rule", "reason", "source"):
            self.assertIn(str(adjustment[part]), text)

    def test_a_reason_for_red_leads_to_its_case(self):
        browser.open(page("red"))
        browser.ask("document.querySelector('#outcome button.link').click()")
        self.becomes(OPENED, run("red")["why_red"][0].split(" ")[0])

    def test_a_verdict_is_never_told_by_colour_alone(self):
        browser.open(page("red"))
        browser.press("/", *"e")
        for text in browser.ask("[...document.querySelectorAll('.badge')].map(badge => badge.textContent)"):
            self.assertRegex(text, r"[a-z]{3}", "a badge without a word")
        signs = browser.ask("Object.values(VERDICTS).map(entry => entry[0])")
        self.assertEqual(len(signs), len(set(signs)))

    def test_light_and_dark_can_both_be_read(self):
        contrast = """(() => {
          const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
          const light = colour => {
            canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
            return .2126 * r + .7152 * g + .0722 * b;
          };
          const ground = element => {
            for (; element; element = element.parentElement) {
              const colour = getComputedStyle(element).backgroundColor;
              if (colour !== 'rgba(0, 0, 0, 0)') return colour;
            }
          };
          const poor = new Set();
          const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (walk.nextNode()) {
            const element = walk.currentNode.parentElement;
            if (!walk.currentNode.data.trim() || !element.getClientRects().length || element.closest('script, noscript')) continue;
            const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
            if ((a + .05) / (b + .05) < 4.5) poor.add(`${element.className}: ${walk.currentNode.data.slice(0, 30)} ${((a + .05) / (b + .05)).toFixed(2)}`);
          }
          return [...poor];
        })()"""
        grounds = []
        for scheme in ("light", "dark"):
            browser.open(page("red"), scheme=scheme)
            grounds.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
            self.picture(f"run-{scheme}")
            browser.press("/", *"e")
            self.assertEqual(browser.ask(contrast), [], scheme)
            browser.open(page("rxe-6.12"), "#" + next(c["id"] for c in run("rxe-6.12")["cases"] if c["raw"]["findings"]), scheme)
            self.assertEqual(browser.ask(contrast), [], scheme)
            self.picture(f"case-{scheme}")
            browser.open(page("matrix"), scheme=scheme, width=1600)
            self.assertEqual(browser.ask(contrast), [], scheme)
            self.picture(f"matrix-{scheme}")
        self.assertNotEqual(*grounds)

    def test_fits_a_narrow_window(self):
        browser.open(page("red"), width=390, height=844)
        self.assertLessEqual(browser.ask("document.documentElement.scrollWidth"), 390)
        self.picture("run-narrow")

    def test_text_from_outside_stays_text(self):
        browser.open(page("hostile"))
        case = run("hostile")["cases"][0]
        self.assertIn("<img src=x onerror=alert(2)>", shown("h1"))
        browser.open(page("hostile"), "#" + case["id"])
        self.assertIn(case["raw"]["notes"][0].replace("\x1b", ""), shown("dialog").replace("\x1b", ""))
        self.assertEqual(browser.ask("document.querySelectorAll('img').length"), 0)
        self.assertEqual(browser.ask("document.scripts.length"), 2)

    def test_numbers_keep_their_digits(self):
        case = run("hostile")["cases"][0]
        browser.open(page("hostile"), "#" + case["id"])
        self.assertIn("asked 18446744073709551615, granted 0", shown("dialog"))


class MatrixPage(Page):
    def cell(self, row, area):
        return f"document.querySelectorAll('.matrix tbody tr')[{row}].querySelector('[data-area=\"{area}\"]')"

    def test_has_models_down_and_areas_across(self):
        browser.open(page("matrix"))
        self.assertEqual(browser.ask("document.querySelectorAll('.matrix').length"), 2)
        heads = browser.ask("[...document.querySelector('.matrix thead').querySelectorAll('th')].map(head => head.textContent)")
        self.assertEqual(heads[:4], ["Device", "all", "device", "port"])
        rows = browser.ask("[...document.querySelectorAll('.matrix tbody th')].map(head => head.textContent)")
        self.assertTrue(any("siw, kernel 6.12.117" in row and "not red" in row for row in rows))
        state = [case for case in run("rxe-6.1")["cases"] if case["area"] == "state"]
        deviates = sum(case["raw"]["verdict"] == "deviates" for case in state)
        self.assertIn(f"Raw verbs: {deviates} deviates", browser.ask(self.cell(0, "state") + ".getAttribute('aria-label')"))

    def test_pairs_are_a_matrix_of_their_own(self):
        browser.open(page("matrix"))
        pair = browser.ask("document.querySelectorAll('.matrix')[1].innerText")
        self.assertIn("rxe, kernel 6.12.117 with rxe, kernel 6.1.170", pair)
        self.assertIn("loopback", pair)
        self.assertNotIn(" with ", browser.ask("document.querySelectorAll('.matrix')[0].innerText"))

    def test_models_are_on_a_page_of_their_own_that_says_so(self):
        browser.open(page("matrix"))
        self.assertNotIn("model of", browser.ask("document.body.innerText"))
        browser.ask("document.querySelector('a').click()")
        self.becomes("document.readyState === 'complete' && Boolean(document.querySelector('#models'))", True)
        self.assertIn("Emulated NICs only", shown("#models"))
        self.assertIn("model of e810-roce", shown(".matrix"))
        self.assertNotIn("rxe, kernel", browser.ask("document.body.innerText"))

    def test_a_cell_opens_its_cases_and_adjustments_by_keyboard(self):
        browser.open(page("matrix"))
        browser.press("/", "Enter")
        self.becomes("document.activeElement.dataset.area", "all")
        browser.press("ArrowDown", *["ArrowRight"] * 7)
        self.becomes("document.activeElement.dataset.area", "srq")
        browser.press("Enter")
        cases = [case for case in run("rxe-6.12")["cases"] if case["area"] == "srq"]
        self.becomes(OPENED, f"srq: {len(cases)} cases")
        adjusted = next(case for case in cases if case["verbena"]["adjustments"])
        browser.ask(f"{PANEL}.querySelector('[data-case=\"{adjusted['id']}\"] summary').focus()")
        browser.press("Enter")
        browser.ask("new Promise(done => setTimeout(done, 100))")
        text = shown(f"[data-case=\"{adjusted['id']}\"]")
        self.assertIn("asked 65536, granted 16351", text)
        self.assertIn(adjusted["says"], text)
        browser.press("Escape")
        self.becomes("document.activeElement.dataset.area", "srq")

    def test_a_filter_holds_for_all_cells(self):
        browser.open(page("matrix"))
        browser.press("/", *"rxe-bind-error")
        self.assertEqual(browser.ask(self.cell(1, "cq") + ".className"), "empty")
        wanted = sum("rxe-bind-error" in case["raw"]["expectations"] for case in run("rxe-6.12")["cases"])
        self.assertIn(f"Raw verbs: {wanted} deviates", browser.ask(self.cell(1, "mw") + ".getAttribute('aria-label')"))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    subprocess.run([SAMPLES, TREE, FOLDER], check=True)
    try:
        browser = Chromium()
    except Refused as refusal:
        print(f"skipped: {refusal}")
        sys.exit(77)
    try:
        result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    finally:
        browser.close()
    sys.exit(not result.wasSuccessful())
