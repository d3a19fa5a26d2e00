// The logs: a cell for each offset, in rows. Where there are too many, a cell stands for several and shows the worst.
const strips = (() => {
  const { data } = model;
  const root = document.getElementById('strips');
  const worst = ['read', 'acked', 'unacked', 'reused', 'lost', 'corrupt'];
  const bad = ['lost', 'reused', 'corrupt'];
  const sizes = [15, 12, 10, 8, 6, 5, 4, 3], heightMax = 300, runsMax = 10;

  const gapMax = 32; // a longer stretch without records is one empty place: offsets may be wild

  // places of a log: an offset with its records, or an empty one. at tells the place of each record.
  const logs = data.parts.map((part, p) => {
    const places = [], at = new Int32Array(part.records.length);
    part.records.forEach((r, i) => {
      const before = places[places.length - 1];
      if (before && before.offset === r.o) {
        before.records.push(i);
      } else {
        const missing = before ? r.o - before.offset - 1 : 0;
        for (let k = 0; k < (missing > gapMax ? 1 : missing); k++) places.push({ offset: before.offset + 1 + k, records: [] });
        places.push({ offset: r.o, records: [i] });
      }
      at[i] = places.length - 1;
    });
    const widest = places.length ? String(places[places.length - 1].offset).length : 0;
    return { part, p, places, at, count: places.length, gutter: Math.max(46, Math.min(150, widest * 8 + 10)), canvas: null };
  });

  function states(log) {
    const n = {};
    for (const r of log.part.records) n[r.s] = (n[r.s] || 0) + 1;
    return worst.filter(s => n[s]).map(s => `${n[s].toLocaleString('en')} ${model.words[s]}`).join(', ');
  }

  // badRuns are stretches of records in one bad state.
  function badRuns(log) {
    const out = [];
    log.part.records.forEach((r, i) => {
      if (!bad.includes(r.s)) return;
      const run = out[out.length - 1];
      if (run && run.state === r.s && r.o - log.part.records[run.last].o <= 1) run.last = i;
      else out.push({ state: r.s, first: i, last: i });
    });
    return out.sort((a, b) => worst.indexOf(b.state) - worst.indexOf(a.state));
  }

  function build() {
    for (const log of logs) {
      const box = make('div', { class: 'strip' });
      const none = log.part.records.length ? '' : 'nothing was written';
      box.append(make('h3', {}, log.part.name + ' ', make('span', {}, none || states(log) + (log.part.drained ? '' : '; not read to the end, so nothing is called lost'))));
      if (log.part.records.length) {
        log.canvas = make('canvas', { tabindex: '0', role: 'application', 'aria-label': `Log ${log.part.name}: ${states(log)}. Arrow keys choose an offset.` });
        wire(log);
        box.append(log.canvas);
        const runs = badRuns(log);
        if (runs.length) {
          const list = make('p', { class: 'bad' });
          for (const run of runs.slice(0, runsMax)) {
            const a = log.part.records[run.first].o, b = log.part.records[run.last].o;
            list.append(make('button', { type: 'button', class: run.state, onclick: () => model.chooseRecord(log.p, run.first) }, `${model.words[run.state]}: ${a === b ? a : a + '–' + b}`));
          }
          if (runs.length > runsMax) list.append(`and ${runs.length - runsMax} more`);
          box.append(list);
        }
      }
      root.append(box);
    }
    if (!logs.length) root.append(make('p', { class: 'hint' }, 'No partition was touched.'));
  }

  // fit chooses the largest cells that keep the strip low.
  function fit(log) {
    const room = Math.max(40, log.canvas.clientWidth - log.gutter - 2);
    for (const size of sizes) {
      const cols = Math.max(1, Math.floor(room / size)), rows = Math.ceil(log.count / cols);
      if (rows * size <= heightMax) return { size, cols, rows, each: 1 };
    }
    const size = sizes[sizes.length - 1], cols = Math.max(1, Math.floor(room / size)), rowsMax = Math.floor(heightMax / size);
    const each = Math.ceil(log.count / (cols * rowsMax));
    return { size, cols, rows: Math.ceil(log.count / each / cols), each };
  }

  // worstOf a cell: the record to show for it; -1 if no offset of it has one.
  function worstOf(log, cell) {
    let best = -1;
    for (const place of log.places.slice(cell * log.fit.each, (cell + 1) * log.fit.each)) {
      for (const i of place.records) {
        if (best < 0 || worst.indexOf(log.part.records[i].s) > worst.indexOf(log.part.records[best].s)) best = i;
      }
    }
    return best;
  }
  const cellOf = (log, record) => Math.floor(log.at[record] / log.fit.each);
  const place = (log, cell) => ({ x: log.gutter + (cell % log.fit.cols) * log.fit.size, y: 2 + Math.floor(cell / log.fit.cols) * log.fit.size });

  function drawCell(c, log, cell) {
    const i = worstOf(log, cell);
    if (i < 0) return;
    const s = log.part.records[i].s, { x, y } = place(log, cell), n = log.fit.size, gap = n > 6 ? 1 : 0;
    c.fillStyle = colours(s);
    c.fillRect(x, y, n - gap, n - gap);
    if (n < 8 || !bad.includes(s)) return;
    c.strokeStyle = c.fillStyle = colours('card');
    c.lineWidth = 1.4;
    c.beginPath();
    const a = 2.5, b = n - gap - 2.5;
    if (s === 'lost') { c.moveTo(x + a, y + a); c.lineTo(x + b, y + b); c.moveTo(x + b, y + a); c.lineTo(x + a, y + b); c.stroke(); }
    if (s === 'reused') { c.moveTo(x + a, y + b); c.lineTo(x + b, y + a); c.stroke(); }
    if (s === 'corrupt') { c.arc(x + (n - gap) / 2, y + (n - gap) / 2, n / 5, 0, 7); c.fill(); }
  }

  // drawCuts marks where a log came back shorter than it had been.
  function drawCuts(c, log) {
    for (const cut of log.part.cuts || []) {
      const n = log.places.findIndex(p => p.offset >= cut.next), cell = Math.floor((n < 0 ? log.count : n) / log.fit.each);
      const { x, y } = place(log, cell);
      c.fillStyle = colours('chosen');
      c.fillRect(x - 1.5, y - 2, 2, log.fit.size + 3);
    }
  }

  function outline(c, log, from, to, colour, width) {
    c.strokeStyle = colours(colour);
    c.lineWidth = width;
    for (let cell = from; cell <= to; cell++) {
      const { x, y } = place(log, cell), n = log.fit.size;
      c.strokeRect(x - 1, y - 1, n + 1, n + 1);
    }
  }

  function draw() {
    for (const log of logs) {
      if (!log.canvas) continue;
      log.fit = fit(log);
      const { size, cols, rows, each } = log.fit;
      const c = sharp(log.canvas, log.canvas.clientWidth, rows * size + 5);
      const cells = Math.ceil(log.count / each);
      for (let cell = 0; cell < cells; cell++) drawCell(c, log, cell);
      c.fillStyle = colours('soft');
      c.textAlign = 'right';
      const labels = Math.max(1, Math.ceil(14 / size));
      for (let r = 0; r < rows; r += labels) c.fillText(log.places[r * cols * each].offset, log.gutter - 6, 2 + (r + .5) * size);
      drawCuts(c, log);
      const { op, part, record } = model.chosen;
      if (op >= 0 && data.ops[op].t === log.p) for (const [a, b] of (data.ops[op].r || []).slice(0, 40)) outline(c, log, cellOf(log, a), cellOf(log, b), 'accent', 1);
      if (part === log.p && record >= 0) outline(c, log, cellOf(log, record), cellOf(log, record), 'chosen', 2.5);
    }
  }

  function recordAt(log, event) {
    const box = log.canvas.getBoundingClientRect(), { size, cols, each } = log.fit;
    const col = Math.floor((event.clientX - box.left - log.gutter) / size), r = Math.floor((event.clientY - box.top - 2) / size);
    if (col < 0 || col >= cols || r < 0) return -1;
    const cell = r * cols + col;
    return cell * each < log.count ? worstOf(log, cell) : -1;
  }

  function text(log, i) {
    const r = log.part.records[i];
    return `${log.part.name} offset ${r.o}: ${r.v || '(value unknown)'}, ${model.words[r.s]}${r.g && r.s !== 'lost' ? ', and gone' : ''}`;
  }

  function wire(log) {
    log.canvas.addEventListener('click', e => { const i = recordAt(log, e); if (i >= 0) model.chooseRecord(log.p, i); });
    log.canvas.addEventListener('pointermove', e => { const i = recordAt(log, e); tip(i >= 0 ? text(log, i) : '', e); });
    log.canvas.addEventListener('pointerleave', () => tip(''));
    log.canvas.addEventListener('keydown', e => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -log.fit.cols * log.fit.each, ArrowDown: log.fit.cols * log.fit.each }[e.key];
      if (!step) return;
      e.preventDefault();
      const now = model.chosen.part === log.p && model.chosen.record >= 0 ? model.chosen.record : -1;
      const want = now < 0 ? 0 : Math.abs(step) === 1 ? now + step : log.at.findIndex(place => place >= log.at[now] + step);
      if (want >= 0 && want < log.part.records.length) model.chooseRecord(log.p, want);
    });
  }

  // where is the middle of a record's cell, in pixels of the window.
  function where(part, record) {
    const log = logs[part], box = log.canvas.getBoundingClientRect(), { x, y } = place(log, cellOf(log, record));
    return { x: box.left + x + log.fit.size / 2, y: box.top + y + log.fit.size / 2 };
  }
  return { build, draw, where, text: (part, record) => text(logs[part], record) };
})();
