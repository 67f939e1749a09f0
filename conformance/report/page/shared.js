// SPDX-License-Identifier: Apache-2.0 OR MIT
'use strict';

// Every text of the data comes from outside (names of devices, messages of drivers): it enters the page as text nodes
// and attributes, never as markup.

// word: [sign, tone, what it means], worst first.
const VERDICTS = {
  crash: ['✸', 'bad', 'the process died'],
  timeout: ['◷', 'bad', 'the deadline passed'],
  violates: ['✗', 'bad', 'wrong, and not in a recorded way'],
  misdeclares: ['≠', 'bad', 'claims what it refuses, or does what it denies'],
  flaky: ['∿', 'unsure', 'both outcomes were seen'],
  blocked: ['⊘', 'unsure', 'the environment lacks something named'],
  not_run: ['○', 'unsure', 'listed, and did not run'],
  withheld: ['◌', 'unsure', 'not run because it could harm'],
  deviates: ['△', 'known', 'differs in a recorded, sourced way'],
  degraded: ['≈', 'mild', 'the same result by a substitute or a smaller number'],
  absent: ['∅', 'mild', 'not there, says so, and is refused cleanly'],
  conforms: ['✓', 'good', 'does what must hold, natively'],
};
const TABLES = {
  none: 'Nothing to compare with a table.',
  expected: 'Expected: as contract and expectations say.',
  stale: 'Stale: better than a table says, so the table must change.',
  missing: 'Missing: a deviation that no table records.',
};
const SIDES = {raw: 'Raw verbs', verbena: 'Through Verbena'};
const AREAS = ['device', 'port', 'pd', 'mr', 'mw', 'cq', 'srq', 'ah', 'qp', 'state', 'data', 'error', 'event', 'address',
  'pair', 'multicast', 'thread', 'scale', 'iwarp'];

// 64-bit numbers keep their digits where the browser hands out the source text of a number.
const data = JSON.parse(document.getElementById('data').textContent, (key, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value) && context ? context.source : value);

function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  return put(element, ...children);
}

// Appends what is there: texts and elements, in arrays too.
function put(element, ...children) {
  for (const child of children.flat(3)) if (child != null && child !== false && child !== '') element.append(child);
  return element;
}

const areaOrder = (a, b) => {
  const [x, y] = [AREAS.indexOf(a), AREAS.indexOf(b)];
  return x < 0 || y < 0 ? (x < 0) - (y < 0) || (a < b ? -1 : 1) : x - y;
};
const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + 's'}`;
const sentence = words => `${words[0].toUpperCase()}${words.slice(1)}.`;
// 2026-11-30T02:00:00Z as people write it; anything else as it is.
const time = begun => begun.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\dZ$/, '$1\u00a0$2\u00a0UTC');
const isRed = c => Boolean(c.raw.red || c.verbena.red);

// What a table says of a column, when it is worth a word.
const tableWord = column => column.table === 'stale' || column.table === 'missing' ? column.table : '';

function badge(column) {
  const [sign, tone] = VERDICTS[column.verdict];
  return el('span', {class: `badge ${column.red ? 'bad heavy' : tone}`, title: VERDICTS[column.verdict][2]},
    el('span', {'aria-hidden': 'true'}, sign), column.verdict + (column.rate ? ` ${column.rate}` : ''),
    tableWord(column) && `\u00a0· ${tableWord(column)}`);
}

// {verdict: how often}, worst first.
function countVerdicts(cases, side) {
  const counts = {};
  for (const word of Object.keys(VERDICTS)) {
    const n = cases.filter(c => c[side].verdict === word).length;
    if (n) counts[word] = n;
  }
  return counts;
}

const countsText = counts => Object.entries(counts).map(([word, n]) => `${n} ${word}`).join(', ') || 'none';

function countBadges(counts) {
  return el('span', {class: 'counts'}, Object.entries(counts).reverse().map(([word, n]) =>
    el('span', {class: `badge ${VERDICTS[word][1]}`, title: `${n} ${word}: ${VERDICTS[word][2]}`},
      el('span', {'aria-hidden': 'true'}, VERDICTS[word][0]), String(n), el('span', {class: 'unseen'}, ` ${word}`))));
}

// ---- filter

const filter = {text: '', verdicts: new Set(), red: false};
const filtering = () => filter.text.trim() !== '' || filter.verdicts.size > 0 || filter.red;

function haystack(c) {
  if (c.haystack === undefined) {
    const words = [c.id, c.says, c.area, c.impact, ...(c.covers || [])];
    for (const side of Object.keys(SIDES)) {
      const column = c[side];
      words.push(column.verdict, tableWord(column), column.reason, column.rate, ...(column.expectations || []), ...(column.notes || []));
      for (const f of column.findings || []) words.push(f.requirement, f.seen, f.errno, f.status, f.state, f.text);
      for (const a of column.adjustments || []) words.push(a.field, a.kind, a.rule, a.reason);
    }
    Object.defineProperty(c, 'haystack', {value: words.filter(Boolean).join('\n').toLowerCase()});
  }
  return c.haystack;
}

function matches(c) {
  if (filter.red && !isRed(c)) return false;
  if (filter.verdicts.size && !filter.verdicts.has(c.raw.verdict) && !filter.verdicts.has(c.verbena.verdict)) return false;
  return filter.text.toLowerCase().split(/\s+/).every(word => haystack(c).includes(word));
}

// The search field and a chip for each verdict that occurs; `changed` is called with every change, and says how many are left.
function toolbar(cases, noun, changed) {
  const shown = el('span', {class: 'quiet', role: 'status', id: 'shown'});
  const update = () => {
    const n = changed();
    shown.textContent = filtering() ? `${n} of ${plural(cases.length, noun)}` : plural(cases.length, noun);
    clear.hidden = !filtering();
  };
  const search = el('input', {type: 'search', id: 'search', 'aria-label': 'Filter the cases',
    placeholder: 'Filter: words of an id, a sentence, a finding, an expectation', autocomplete: 'off', spellcheck: 'false',
    oninput: () => { filter.text = search.value; update(); },
    onkeydown: event => {
      if (event.key === 'Escape') { event.preventDefault(); if (search.value) { search.value = filter.text = ''; update(); } else search.blur(); }
      if (event.key === 'Enter' || event.key === 'ArrowDown') { event.preventDefault(); focusGrid(); }
    }});
  const chip = (sign, tone, name, title, numbers, get, set) => {
    const button = el('button', {type: 'button', class: `chip ${tone}`, title, 'aria-pressed': 'false', 'data-chip': name,
      onclick: () => { set(!get()); button.setAttribute('aria-pressed', String(get())); update(); }},
      el('span', {class: 'sign', 'aria-hidden': 'true'}, sign), name, el('span', {class: 'number'}, numbers));
    return button;
  };
  const counts = {raw: countVerdicts(cases, 'raw'), verbena: countVerdicts(cases, 'verbena')};
  const chips = Object.entries(VERDICTS).filter(([word]) => counts.raw[word] || counts.verbena[word]).reverse()
    .map(([word, [sign, tone, meaning]]) => chip(sign, tone, word, `${meaning}; raw, and through Verbena`,
      `${counts.raw[word] || 0} | ${counts.verbena[word] || 0}`, () => filter.verdicts.has(word),
      on => on ? filter.verdicts.add(word) : filter.verdicts.delete(word)));
  const red = cases.filter(isRed).length;
  if (red) chips.unshift(chip('■', 'bad', 'red', 'cases that make the run red', String(red), () => filter.red, on => { filter.red = on; }));
  const clear = el('button', {type: 'button', class: 'chip', hidden: true, onclick: () => {
    search.value = filter.text = ''; filter.verdicts.clear(); filter.red = false;
    for (const one of chips) one.setAttribute('aria-pressed', 'false');
    update(); search.focus();
  }}, '× clear');
  const bar = el('div', {class: 'toolbar', role: 'search'}, el('div', {class: 'line'}, search, shown),
    el('div', {class: 'line', role: 'group', 'aria-label': 'Filter by verdict: raw | through Verbena'}, chips, clear));
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input') || panel.open) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  return {bar, update};
}

const keys = (...pairs) => el('p', {class: 'quiet keys'}, pairs.map(([key, what], i) => [i ? ' · ' : '', el('kbd', {}, key), ` ${what}`]));

// ---- cells that arrow keys go through, with one of them in the tab order

let grid;
const cells = () => [...grid.querySelectorAll('tbody tr')].map(row => [...row.querySelectorAll('td')]).filter(row => row.length);

function setCurrent(cell, focus) {
  for (const other of grid.querySelectorAll('td[tabindex="0"]')) other.tabIndex = -1;
  cell.tabIndex = 0;
  if (focus) cell.focus();
}

function focusGrid() {
  const cell = grid && grid.querySelector('td[tabindex="0"]');
  if (cell) cell.focus();
}

// `enter` gets the cell that was chosen; `turn` may take an arrow to the left or right for itself.
function keyboard(table, enter, turn) {
  table.addEventListener('keydown', event => {
    const cell = event.target.closest('td');
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    grid = table;
    const rows = cells();
    const y = rows.findIndex(row => row.includes(cell)), x = rows[y].indexOf(cell);
    const go = (row, column) => {
      const to = rows[Math.max(0, Math.min(rows.length - 1, row))];
      setCurrent(to[Math.max(0, Math.min(to.length - 1, column))], true);
    };
    const moves = {
      ArrowDown: () => go(y + 1, x), ArrowUp: () => go(y - 1, x), PageDown: () => go(y + 12, x), PageUp: () => go(y - 12, x),
      ArrowRight: () => turn && turn(cell, x, true) || go(y, x + 1), ArrowLeft: () => turn && turn(cell, x, false) || go(y, x - 1),
      Home: () => event.shiftKey ? go(0, 0) : go(y, 0), End: () => event.shiftKey ? go(rows.length, x) : go(y, rows[y].length),
      Enter: () => enter(cell), ' ': () => enter(cell),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  table.addEventListener('click', event => {
    const cell = event.target.closest('td');
    if (!cell || cell.classList.contains('nothing')) return;
    grid = table;
    setCurrent(cell, true);
    enter(cell);
  });
}

// ---- what one case holds

const list = (title, entries) => entries && entries.length ? [el('h4', {}, title), entries] : [];

function findingEntry(f) {
  const seen = [f.seen, f.errno, f.status].filter(Boolean).join(' ') + (f.state ? `, state ${f.state}` : '');
  return el('div', {class: 'entry'}, el('p', {}, f.text),
    el('p', {class: 'quiet'}, 'seen ', el('code', {}, seen), ' against ', el('code', {}, f.requirement)));
}

function expectationEntry(run, id) {
  const entry = (run.expectations || []).find(e => e.id === id);
  if (!entry) return el('div', {class: 'entry'}, el('p', {}, el('code', {}, id)), el('p', {class: 'quiet'}, 'the run does not hold this entry'));
  return el('div', {class: 'entry'}, el('p', {}, el('code', {}, id)), el('p', {}, entry.says), el('p', {}, entry.reason),
    el('p', {class: 'quiet'}, 'Source: ', entry.source.join('; ')),
    el('p', {class: 'quiet'}, entry.until === 'open' ? 'Not fixed in any version known.' : `Until ${entry.until}.`));
}

function adjustmentEntry(a) {
  return el('div', {class: 'entry'}, el('p', {class: 'numbers'}, el('code', {}, a.field), `: asked ${a.asked}, granted ${a.granted} (${a.kind})`),
    el('p', {}, a.reason), el('p', {class: 'quiet'}, a.rule ? ['Rule ', el('code', {}, a.rule), '. '] : '', a.source && `Source: ${a.source}`));
}

function sideCard(run, c, side) {
  const column = c[side];
  const facts = [`${(column.ms || 0).toLocaleString('en', {maximumFractionDigits: 1})} ms`, plural(column.runs || 0, 'run')];
  return el('section', {class: 'card side', 'data-side': side},
    el('h3', {}, SIDES[side], badge(column)),
    el('p', {class: 'quiet'}, sentence(VERDICTS[column.verdict][2]), ' ', TABLES[column.table], ' ', facts.join(', '), '.'),
    column.reason && el('p', {}, column.reason),
    list('Findings', (column.findings || []).map(findingEntry)),
    list('Expected, because', (column.expectations || []).map(id => expectationEntry(run, id))),
    list('Adjustments', (column.adjustments || []).map(adjustmentEntry)),
    list('Notes', (column.notes || []).map(note => el('div', {class: 'entry'}, el('p', {}, note)))));
}

function caseBody(run, c) {
  return [el('p', {class: 'says-large'}, c.says), Object.keys(SIDES).map(side => sideCard(run, c, side)),
    el('p', {class: 'quiet'}, `Area ${c.area}, impact ${c.impact}. Covers `,
      (c.covers || []).map((id, i) => [i ? ', ' : '', el('code', {}, id)]), '.')];
}

// One panel for whatever is opened. Escape closes it, and the focus returns to where it came from.
const panel = el('dialog', {'aria-labelledby': 'panel-title'});
panel.addEventListener('click', event => { if (event.target === panel) panel.close(); });
// The event comes a moment late: who has begun to filter by then goes on filtering.
panel.addEventListener('close', () => { if (!document.activeElement.matches('input')) focusGrid(); });

function openPanel(title, subtitle, body, step) {
  const close = el('button', {type: 'button', onclick: () => panel.close()}, 'Close ', el('kbd', {}, 'Esc'));
  const move = by => el('button', {type: 'button', onclick: () => step(by), 'aria-label': by < 0 ? 'Previous case' : 'Next case'},
    by < 0 ? '↑ ' : '↓ ', el('kbd', {}, by < 0 ? 'p' : 'n'));
  panel.replaceChildren(
    el('header', {}, el('div', {}, el('h2', {id: 'panel-title'}, title), el('p', {class: 'kicker'}, subtitle)), step && [move(-1), move(1)], close),
    el('div', {class: 'body'}, body));
  panel.onkeydown = event => {
    const by = {n: 1, p: -1}[event.key];
    if (step && by && !event.ctrlKey && !event.metaKey && !event.altKey) step(by);
  };
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  close.focus();
}

// ---- who was asked

const fact = (name, value, long) => value === '' || value == null ? '' : el('div', long ? {class: 'long'} : {}, el('dt', {}, name), el('dd', {}, value));

function identityFacts(id) {
  return [fact('Device', id.name), fact('Model', id.model), fact('Driver', id.driver), fact('Part', id.part), fact('Firmware', id.firmware),
    fact('Kernel', id.kernel), fact('Library', id.library), fact('Transport', id.transport), fact('Node GUID', id.node_guid)];
}

const SUBSTRATES = {
  hardware: 'hardware', 'kernel-driver': 'a driver of the kernel that needs no NIC', 'vendor-driver': "a vendor's user-space driver on a shell of its NIC",
  emulated: 'an emulated NIC: a model, not hardware',
};
