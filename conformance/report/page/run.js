// SPDX-License-Identifier: Apache-2.0 OR MIT

const run = data.run;
const areas = [...new Set(run.cases.map(c => c.area))].sort(areaOrder);
const open = new Set(areas.length === 1 ? areas : []);
// A case that ran twice is there twice: it makes the run red, and both are shown.
const byKey = new Map();
for (const c of run.cases) {
  c.key = c.id;
  for (let n = 2; byKey.has(c.key); ++n) c.key = `${c.id} (${n})`;
  byKey.set(c.key, c);
}

const main = el('main', {});
document.body.append(main, panel);

// ---- red or not, and why

const MANY = 8;
// A reason that names a case leads to it.
const reasons = run.why_red.map(why => {
  const c = byKey.get(why.split(' ')[0]);
  return el('li', {}, c ? [el('button', {type: 'button', class: 'link', onclick: () => showCase(c)}, el('code', {}, c.key)), why.slice(c.key.length)] : why);
});
put(main,
  el('header', {},
    el('p', {class: 'kicker'}, `RDMA conformance · list ${run.suite.version} · Verbena ${run.verbena} · ${time(run.begun)}`),
    el('h1', {}, data.title)),
  el('section', {class: `outcome ${run.red ? 'bad' : 'good'}`, id: 'outcome'},
    el('strong', {}, run.red ? `✗ Red: ${plural(run.why_red.length, 'reason')}` : '✓ Not red'),
    run.red ? el('ul', {}, reasons.slice(0, MANY)) :
      el('p', {}, `${run.cases.length} of ${run.suite.cases} listed cases. None violates, misdeclares, crashes or hangs, and no table is out of date.`),
    reasons.length > MANY && el('details', {}, el('summary', {}, `and ${reasons.length - MANY} more`), el('ul', {}, reasons.slice(MANY)))));

// ---- how many of which

const bars = Object.entries(SIDES).map(([side, name]) => {
  const counts = Object.entries(countVerdicts(run.cases, side)).reverse();
  const clean = counts.filter(([word]) => ['good', 'mild'].includes(VERDICTS[word][1])).reduce((sum, [, n]) => sum + n, 0);
  const absent = run.cases.filter(c => c[side].verdict === 'absent').length;
  return [el('span', {}, name),
    el('div', {class: 'bar', role: 'img', 'aria-label': `${name}: ${countsText(Object.fromEntries(counts))}`}, counts.map(([word, n]) =>
      el('span', {class: VERDICTS[word][1], style: `flex: ${n} 1 0`, title: `${n} ${word}`}, n * 40 > run.cases.length && `${VERDICTS[word][0]} ${n}`))),
    el('span', {class: 'quiet numbers'}, `${clean} of ${run.cases.length} as required${absent ? `, ${absent} of them absent` : ''}`)];
});
put(main, el('section', {class: 'card bars'}, bars));

// ---- areas and cases

const tbody = el('tbody', {});
const table = el('table', {class: 'grid', role: 'treegrid', 'aria-label': 'Cases by area'},
  el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Area and case'), el('th', {scope: 'col'}, SIDES.raw), el('th', {scope: 'col'}, SIDES.verbena))),
  tbody);
grid = table;
let current = {key: null, column: 0};

function why(column) {
  const text = column.reason || (column.expectations || []).join(', ') || (column.findings || []).map(f => f.text)[0] ||
    (column.adjustments || []).map(a => `${a.field} ${a.asked} → ${a.granted}`).join(', ');
  return text && el('span', {class: 'why'}, text);
}

function row(key, attributes, ...columns) {
  return el('tr', {...attributes, 'data-key': key}, columns.map((content, i) =>
    el('td', {role: 'gridcell', tabindex: current.key === key && current.column === i ? 0 : -1}, content)));
}

function render() {
  const shown = run.cases.filter(matches);
  const rows = [];
  for (const area of areas) {
    const here = shown.filter(c => c.area === area);
    if (!here.length) continue;
    const expanded = filtering() || open.has(area);
    const total = run.cases.filter(c => c.area === area).length;
    rows.push(row(`area ${area}`, {class: `area${here.some(isRed) ? ' red' : ''}`, 'aria-level': 1, 'aria-expanded': String(expanded)},
      [el('span', {class: 'turn', 'aria-hidden': 'true'}, expanded ? '▾' : '▸'), area,
        el('span', {class: 'quiet', style: 'font-weight: 400'}, here.length === total ? `  ${plural(total, 'case')}` : `  ${here.length} of ${plural(total, 'case')}`),
        here.some(isRed) && el('span', {class: 'badge bad', style: 'margin-left: .6rem'}, `${here.filter(isRed).length} red`)],
      countBadges(countVerdicts(here, 'raw')), countBadges(countVerdicts(here, 'verbena'))));
    if (!expanded) continue;
    for (const c of here) {
      rows.push(row(c.key, {class: `case${isRed(c) ? ' red' : ''}`, 'aria-level': 2}, [el('code', {}, c.key), el('span', {class: 'says'}, c.says)],
        [badge(c.raw), why(c.raw)], [badge(c.verbena), why(c.verbena)]));
    }
  }
  if (!rows.length) rows.push(el('tr', {}, el('td', {class: 'nothing', colspan: 3, role: 'gridcell'}, 'No case matches the filter.')));
  tbody.replaceChildren(...rows);
  if (!tbody.querySelector('[tabindex="0"]')) {
    const first = tbody.querySelector('td:not(.nothing)');
    if (first) first.tabIndex = 0;
  }
  return shown.length;
}

function note(cell) {
  current = {key: cell.parentElement.dataset.key, column: [...cell.parentElement.children].indexOf(cell)};
}
tbody.addEventListener('focusin', event => { const cell = event.target.closest('td[tabindex]'); if (cell) note(cell); });

function toggle(area, expanded) {
  if (filtering()) return false;
  if (expanded === open.has(area)) return false;
  if (expanded) open.add(area); else open.delete(area);
  render();
  focusGrid();
  return true;
}

function showHash(id) {
  try { history.replaceState(null, '', id ? `#${id.replaceAll(' ', '')}` : location.pathname + location.search); } catch { /* a page without an address */ }
}

function openCase(c) {
  const shown = run.cases.filter(matches).sort((a, b) => areaOrder(a.area, b.area));
  showHash(c.key);
  openPanel(c.key, `${c.area} · ${shown.indexOf(c) + 1} of ${shown.length}`, caseBody(run, c), by => {
    const next = shown[shown.indexOf(c) + by];
    if (!next) return;
    open.add(next.area);
    current = {key: next.key, column: current.column};
    render();
    openCase(next);
  });
}
panel.addEventListener('close', () => showHash(''));

keyboard(table, cell => {
  note(cell);
  const key = cell.parentElement.dataset.key;
  const c = byKey.get(key);
  if (c) { openCase(c); return; }
  const area = key.replace(/^area /, '');
  toggle(area, !open.has(area));
}, (cell, x, right) => {
  const key = cell.parentElement.dataset.key;
  if (x !== 0) return false;
  if (key.startsWith('area ')) return toggle(key.slice(5), right);
  if (right) return false;
  // From a case to its area.
  setCurrent(tbody.querySelector(`[data-key="area ${CSS.escape(byKey.get(key).area)}"] td`), true);
  return true;
});

const tools = toolbar(run.cases, 'case', render);
put(main, tools.bar,
  keys(['/', 'filters'], ['↑ ↓ ← →', 'go through the cells'], ['Enter', 'opens a case or an area'], ['n p', 'next and previous case'], ['Esc', 'closes']), table);
tools.update();

// ---- who was asked, and how

put(main, el('h2', {}, 'What was asked, and how'),
  el('section', {class: 'card'}, el('h3', {}, run.peer ? 'First device' : 'Device'), el('dl', {class: 'facts'}, identityFacts(run.device))),
  run.peer ? el('section', {class: 'card'}, el('h3', {}, `Second device, over ${run.path === 'wire' ? 'a wire' : 'loopback'}`), el('dl', {class: 'facts'}, identityFacts(run.peer))) : '',
  el('section', {class: 'card'}, el('h3', {}, 'Run'), el('dl', {class: 'facts'},
    fact('Substrate', `${run.substrate}: ${SUBSTRATES[run.substrate]}`, true), fact('Begun', time(run.begun)), fact('Took', `${run.seconds.toFixed(1)} s`),
    fact('Seed', String(run.seed)), fact('Repeats', String(run.repeat)), fact('Official', run.official ? 'yes' : 'no'), fact('Verbena', run.verbena),
    fact('Quirk tables', el('code', {}, run.quirks.hash)), ...(run.quirks.layers_left_out || []).map((layer) => fact('Left out', el('code', {}, layer), true)), fact('List of cases', `version ${run.suite.version}, ${run.suite.cases} cases, ${run.suite.requirements} requirements`, true),
    fact('Blocked', `${countVerdicts(run.cases, 'raw').blocked || 0} of at most ${run.blocked_budget}`),
    fact('Command', el('code', {}, `verbena conform ${run.command.join(' ')}`), true))));

function showCase(c) {
  open.add(c.area);
  current = {key: c.key, column: 0};
  render();
  openCase(c);
}
function openFromAddress() {
  const c = byKey.get(location.hash.slice(1));
  if (c) showCase(c);
}
addEventListener('hashchange', openFromAddress);
openFromAddress();
