// SPDX-License-Identifier: Apache-2.0 OR MIT

// What all runs say alike of a case is in the data once.
for (const run of data.runs) {
  for (const c of run.cases) Object.assign(c, {...data.cases[c.id], ...c});
}
const all = data.runs.flatMap(run => run.cases);
const areas = [...new Set(all.map(c => c.area))].sort(areaOrder);
const singles = data.runs.filter(run => !run.peer), pairs = data.runs.filter(run => run.peer);

const main = el('main', {class: 'wide'});
document.body.append(main, panel);
const red = data.runs.filter(run => run.red);
put(main, 
  el('header', {}, el('p', {class: 'kicker'}, 'RDMA conformance'), el('h1', {}, data.models ? 'Models, area by area' : 'Devices, area by area')),
  data.models && el('section', {class: 'outcome unsure', id: 'models'}, el('strong', {}, '◌ Emulated NICs only'),
    el('p', {}, 'Every row is a model of the NIC that it is named after. Nothing on this page was seen on hardware or on a driver of it.')),
  el('section', {class: `outcome ${red.length ? 'bad' : 'good'}`, id: 'outcome'},
    el('strong', {}, red.length ? `✗ ${red.length} of ${plural(data.runs.length, 'run')} red` : `✓ None of ${plural(data.runs.length, 'run')} red`),
    red.length > 0 && el('ul', {}, red.map(run => el('li', {}, `${run.title}: `, (run.why_red || [])[0], run.why_red.length > 1 && ` (and ${run.why_red.length - 1} more)`)))));
const versions = [...new Set(data.runs.map(run => run.suite.version))];
if (versions.length > 1) put(main, el('p', {}, `The runs are of different lists of cases: versions ${versions.join(', ')}.`));
if (data.other) put(main, el('p', {}, data.models ? 'Devices are on ' : 'Models (emulated NICs) are on ', el('a', {href: data.other}, 'a page of their own'), '.'));

// One line of a cell: how many cases departed from what must hold, by verdict and worst first. Where none did, how many
// held, and how many were of what the device has not.
function sideLine(cases, side, letter) {
  const red = cases.filter(c => c[side].red).length;
  const departed = Object.entries(countVerdicts(cases, side)).filter(([word]) => !['good', 'mild'].includes(VERDICTS[word][1]));
  const absent = cases.filter(c => c[side].verdict === 'absent').length;
  const tone = red ? 'bad heavy' : departed.length ? VERDICTS[departed[0][0]][1] : absent === cases.length ? 'mild' : 'good';
  const stale = red > 0 && !departed.some(([word]) => VERDICTS[word][1] === 'bad');
  return el('span', {class: `badge ${tone}`}, el('i', {}, letter),
    el('span', {}, stale && `! ${red} `, departed.slice(0, 3).map(([word, n]) => `${VERDICTS[word][0]} ${n} `), departed.length > 3 && '…', !departed.length && !red && [absent < cases.length && `✓ ${cases.length - absent} `, absent > 0 && `∅ ${absent}`]));
}

const spoken = (cases, name) => `${name}: ${Object.entries(SIDES).map(([side, title]) => `${title}: ${countsText(countVerdicts(cases, side))}`).join('; ')}`;

function matrix(runs, title) {
  const tbody = el('tbody', {});
  const table = el('table', {class: 'matrix', role: 'grid', 'aria-label': title},
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, title), ['all', ...areas].map(area => el('th', {scope: 'col'}, area)))), tbody);
  put(main, el('h2', {}, `${title}s`), el('div', {class: 'scroll'}, table));
  let current = '0 all';
  keyboard(table, cell => { if (cell.dataset.run) openCell(data.runs[cell.dataset.run], cell.dataset.area); });
  tbody.addEventListener('focusin', event => {
    const cell = event.target.closest('td');
    if (cell) { grid = table; current = `${cell.dataset.run} ${cell.dataset.area}`; }
  });
  return () => {
    let shown = 0;
    const rows = runs.map(run => {
      const cases = run.cases.filter(matches);
      shown += cases.length;
      const index = data.runs.indexOf(run);
      const cell = area => {
        const here = area === 'all' ? cases : cases.filter(c => c.area === area);
        const attributes = {role: 'gridcell', tabindex: current === `${index} ${area}` ? 0 : -1, 'data-area': area};
        if (!here.length) return el('td', {...attributes, class: 'empty', 'aria-label': `${area}: no case`}, '–');
        return el('td', {...attributes, 'data-run': index, 'aria-label': spoken(here, area), title: spoken(here, area)},
          sideLine(here, 'raw', 'R'), sideLine(here, 'verbena', 'V'));
      };
      return el('tr', {class: run.red ? 'red' : ''},
        el('th', {scope: 'row'}, run.title, ' ', el('span', {class: `badge ${run.red ? 'bad' : 'good'}`}, run.red ? '✗ red' : '✓ not red'),
          el('small', {}, [run.substrate, run.device.transport, run.path === 'none' ? '' : run.path, time(run.begun)].filter(Boolean).join(' · '))),
        ['all', ...areas].map(cell));
    });
    tbody.replaceChildren(...rows);
    if (!tbody.querySelector('[tabindex="0"]') && tbody.querySelector('td')) tbody.querySelector('td').tabIndex = 0;
    if (!grid) grid = table;
    return shown;
  };
}

// The worst first; a case that conforms on both sides has little to say.
function openCell(run, area) {
  const order = Object.keys(VERDICTS);
  const rank = c => Math.min(isRed(c) ? -1 : order.length, order.indexOf(c.raw.verdict), order.indexOf(c.verbena.verdict));
  const cases = run.cases.filter(c => (area === 'all' || c.area === area) && matches(c)).sort((a, b) => rank(a) - rank(b));
  const entries = cases.map(c => {
    const inside = el('div', {});
    const details = el('details', {'data-case': c.id, ontoggle: () => { if (details.open && !inside.firstChild) inside.append(...caseBody(run, c).flat()); }},
      el('summary', {}, el('code', {}, c.id), badge(c.raw), badge(c.verbena)), inside);
    return details;
  });
  openPanel(`${area === 'all' ? 'All areas' : area}: ${plural(cases.length, 'case')}`, run.title, [
    el('p', {}, Object.entries(SIDES).map(([side, name]) => [el('span', {class: 'quiet'}, `${name} `), countBadges(countVerdicts(cases, side)), ' '])),
    el('div', {class: 'cases'}, el('p', {class: 'head quiet', 'aria-hidden': 'true'}, el('span', {}, 'Case'), el('span', {}, 'Raw'), el('span', {}, 'Verbena')), entries)]);
}

let drawn = [];
const tools = toolbar(all, 'result', () => drawn.reduce((sum, draw) => sum + draw(), 0));
put(main, tools.bar, keys(['/', 'filters'], ['↑ ↓ ← →', 'go through the cells'], ['Enter', 'opens a cell'], ['Esc', 'closes']),
  el('p', {class: 'quiet'}, 'R: raw verbs. V: through Verbena. A cell counts the cases that depart from what must hold; where none does, those that hold (✓) and those of what the device has not (∅).'));
if (singles.length) drawn.push(matrix(singles, data.models ? 'Model' : 'Device'));
if (pairs.length) drawn.push(matrix(pairs, 'Pair'));
tools.update();
