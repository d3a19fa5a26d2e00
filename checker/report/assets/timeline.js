// The timeline: a lane for each process, faults as bands, and the charts below it, all on one axis of time.
const timeline = (() => {
  const canvas = document.getElementById('lanes'), charts = document.getElementById('charts');
  const { data } = model;
  // Room for names of processes and for what stands beside the charts; a name that is longer is drawn narrower.
  const gutter = Math.max(54, Math.min(120, Math.max(0, ...data.procs.map(p => p.name.length)) * 8 + 14));
  const axis = 20, overview = 26, flags = 22, row = 9;
  let width = 0, lanes = [];

  const top0 = overview + axis + flags;
  function layout() {
    width = canvas.clientWidth;
    let y = top0;
    lanes = data.procs.map((p, i) => {
      const h = p.kind === 'broker' ? 30 : Math.max(18, model.lanes[i].rows * row + 7);
      const lane = { y, h };
      y += h + 3;
      return lane;
    });
    return y + 2;
  }
  const inner = () => Math.max(1, width - gutter - 8);
  const x = ns => gutter + (ns - model.view.from) / (model.view.to - model.view.from) * inner();
  const time = px => model.view.from + (px - gutter) / inner() * (model.view.to - model.view.from);
  const small = ns => gutter + Math.max(0, Math.min(1, ns / data.end)) * inner();

  // ticks are round times, some 90 pixels apart.
  function ticks() {
    const want = (model.view.to - model.view.from) / (inner() / 90);
    const step = [1, 2, 5, 10].map(k => k * 10 ** Math.floor(Math.log10(want))).find(s => s >= want);
    const out = [];
    for (let t = Math.ceil(Math.max(0, model.view.from) / step) * step; t <= model.view.to; t += step) out.push(t);
    return { out, digits: Math.max(0, Math.min(6, Math.ceil(9 - Math.log10(step) - 1e-9))) };
  }

  function drawAxis(c, height) {
    const { out, digits } = ticks();
    c.textAlign = 'center';
    for (const t of out) {
      c.fillStyle = colours('grid');
      c.fillRect(x(t), overview + axis, 1, height - overview - axis);
      c.fillStyle = colours('soft');
      const label = (t / 1e9).toFixed(digits) + ' s', half = c.measureText(label).width / 2;
      c.fillText(label, Math.min(Math.max(x(t), gutter + half), width - half - 2), overview + axis / 2);
    }
  }

  // drawOverview shows the whole run in a thin bar, and which part of it is below.
  function drawOverview(c) {
    const y = 4, h = overview - 10;
    c.fillStyle = colours('wash');
    c.fillRect(gutter, y, inner(), h);
    for (const b of data.bands) {
      c.fillStyle = bandColour(b.kind);
      c.globalAlpha = 0.45;
      c.fillRect(small(b.from), y, Math.max(1, small(b.to) - small(b.from)), h);
    }
    c.globalAlpha = 1;
    for (const p of data.procs) for (const l of p.life) if (l.crash) { c.fillStyle = colours('down'); c.fillRect(small(l.to) - 1, y, 2, h); }
    if (model.story >= 0) for (const s of data.stories[model.story].steps) { c.fillStyle = colours('witness'); c.fillRect(small(s.time) - 1, y + h - 5, 2, 5); }
    const a = small(model.view.from), b = small(model.view.to);
    c.strokeStyle = colours('ink');
    c.lineWidth = 1.5;
    c.strokeRect(a, y - 1.5, Math.max(3, b - a), h + 3);
    c.fillStyle = colours('soft');
    c.textAlign = 'right';
    c.fillText('run', gutter - 8, y + h / 2);
  }

  const bandColour = kind => colours(kind === 'down' || kind === 'pause' ? kind : 'network');

  function drawBands(c, top, height) {
    for (const b of data.bands) {
      const from = Math.max(gutter, x(b.from)), to = Math.min(width, x(b.to));
      if (to < gutter || from > width) continue;
      c.fillStyle = bandColour(b.kind);
      c.globalAlpha = 0.13;
      c.fillRect(from, top, Math.max(1, to - from), height - top);
      c.globalAlpha = 1;
    }
  }

  function drawLives(c) {
    data.procs.forEach((p, i) => {
      const { y, h } = lanes[i];
      c.fillStyle = colours('ink');
      c.textAlign = 'right';
      c.fillText(p.name, gutter - 8, y + h / 2, gutter - 10);
      c.fillStyle = colours('line');
      c.fillRect(gutter, y + h + 1, inner(), 1);
      if (p.kind !== 'broker') return;
      c.save();
      c.beginPath(); c.rect(gutter, y, inner(), h); c.clip();
      for (const l of p.life) {
        c.fillStyle = colours('alive');
        c.fillRect(x(l.from), y + 6, Math.max(1, x(l.to) - x(l.from)), h - 12);
      }
      for (const b of data.bands) if (b.proc === i) {
        c.fillStyle = bandColour(b.kind);
        c.globalAlpha = 0.55;
        c.fillRect(x(b.from), y + 6, Math.max(1, x(b.to) - x(b.from)), h - 12);
        c.globalAlpha = 1;
        const w = x(b.to) - x(b.from), label = b.kind === 'down' ? 'down' : b.text;
        if (w > c.measureText(label).width + 24) { c.fillStyle = colours('ink'); c.textAlign = 'center'; c.fillText(label, (Math.max(gutter, x(b.from)) + Math.min(width, x(b.to))) / 2, y + h / 2); }
      }
      c.restore();
    });
  }

  // drawEnds marks starts, stops and crashes over everything else.
  function drawEnds(c) {
    c.textAlign = 'center';
    data.procs.forEach((p, i) => {
      if (p.kind !== 'broker') return;
      const { y, h } = lanes[i];
      const put = (sign, ns, colour, size) => {
        const px = x(ns);
        if (px < gutter - 1 || px > width) return;
        c.font = `bold ${size}px system-ui, "DejaVu Sans", sans-serif`;
        c.lineWidth = 4; c.strokeStyle = colours('card'); c.strokeText(sign, px, y + h / 2);
        c.fillStyle = colour; c.fillText(sign, px, y + h / 2);
      };
      for (const l of p.life) {
        put('▲', l.from, colours('valid'), 11);
        if (l.how && l.how !== 'end') put(l.crash ? '✕' : '■', l.to, l.crash ? colours('down') : colours('soft'), l.crash ? 18 : 11);
      }
      c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    });
  }

  const rank = { ok: 0, fail: 1, info: 2, open: 2 };
  const opColour = op => colours(op.o === 'ok' ? 'ok' : op.o === 'fail' ? 'fail' : 'info');

  // drawOps draws each operation once for each pixel that it is alone on: ten thousand of them cost what a few hundred do.
  function drawOps(c) {
    data.procs.forEach((p, i) => {
      const { y } = lanes[i], last = new Float64Array(4).fill(-1), worst = new Int8Array(4).fill(-1);
      const witnesses = [];
      for (const n of model.lanes[i].ops) {
        const op = data.ops[n], a = x(op.a), b = x(model.until[n]);
        if (b < gutter || a > width) continue;
        if (op.w || n === model.chosen.op) { witnesses.push(n); continue; }
        const r = model.rows[n], pixel = Math.floor(a), wide = b - a;
        if (wide < 1.5 && pixel === last[r] && rank[op.o] <= worst[r]) continue;
        worst[r] = pixel === last[r] ? Math.max(worst[r], rank[op.o]) : rank[op.o];
        last[r] = pixel;
        c.fillStyle = opColour(op);
        c.globalAlpha = op.f === 'produce' ? 1 : 0.55;
        const from = Math.max(gutter, a);
        c.fillRect(from, y + 4 + r * row, Math.max(1.5, Math.min(b, width) - from), row - 2);
      }
      c.globalAlpha = 1;
      for (const n of witnesses) {
        const op = data.ops[n], from = Math.max(gutter, x(op.a)), w = Math.max(4, Math.min(x(model.until[n]), width) - from);
        c.fillStyle = op.w ? colours('witness') : opColour(op);
        c.fillRect(from, y + 3 + model.rows[n] * row, w, row);
        if (n === model.chosen.op) { c.strokeStyle = colours('chosen'); c.lineWidth = 2; c.strokeRect(from - 2, y + 1 + model.rows[n] * row, w + 4, row + 4); }
      }
    });
  }

  // drawFlags numbers the steps of the story; those that share a place share a flag.
  function drawFlags(c, height) {
    if (model.story < 0) return;
    const groups = [];
    data.stories[model.story].steps.forEach((s, i) => {
      const px = x(s.time), g = groups[groups.length - 1];
      if (px < gutter || px > width) return;
      if (g && px - g.px < 26) { g.last = i; g.xs.push(px); } else groups.push({ px, first: i, last: i, xs: [px] });
    });
    c.textAlign = 'center';
    for (const g of groups) {
      c.fillStyle = colours('witness');
      for (const px of g.xs) { c.globalAlpha = 0.6; c.fillRect(px - 0.5, overview + axis + 8, 1, height); }
      c.globalAlpha = 1;
      const label = g.first === g.last ? `${g.first + 1}` : `${g.first + 1}–${g.last + 1}`;
      const w = Math.max(18, c.measureText(label).width + 10), mid = Math.min(Math.max(g.px, gutter + w / 2), width - w / 2);
      c.beginPath(); c.roundRect(mid - w / 2, overview + axis + 1, w, 17, 8); c.fill();
      c.fillStyle = colours('card');
      c.fillText(label, mid, overview + axis + 10);
    }
  }

  function drawChosen(c, top, height) {
    const t = model.chosen.time;
    if (t < model.view.from || t > model.view.to) return;
    c.strokeStyle = colours('chosen');
    c.lineWidth = 1;
    c.setLineDash([4, 3]);
    c.beginPath(); c.moveTo(x(t), top); c.lineTo(x(t), height); c.stroke();
    c.setLineDash([]);
  }

  function draw() {
    const height = layout();
    const c = sharp(canvas, width, height);
    drawAxis(c, height);
    drawBands(c, overview + axis, height);
    drawLives(c);
    drawOps(c);
    drawEnds(c);
    drawFlags(c, height);
    drawChosen(c, overview + axis, height);
    drawOverview(c);
    drawCharts();
  }

  // measure counts what each stretch of some pixels saw: records written and read a second, latency of produces.
  function measure() {
    const n = Math.max(8, Math.floor(inner() / 6)), span = (model.view.to - model.view.from) / n;
    const out = Array.from({ length: n }, () => ({ wrote: 0, read: 0, late: [] }));
    for (const op of data.ops) {
      if (op.o !== 'ok' || op.b < 0 || op.z) continue; // the read-back at the end would dwarf the run
      const i = Math.floor((op.b - model.view.from) / span);
      if (i < 0 || i >= n) continue;
      const records = (op.r || []).reduce((sum, [a, b]) => sum + b - a + 1, 0);
      if (op.f === 'produce') { out[i].wrote += records; out[i].late.push(op.b - op.a); }
      if (op.f === 'fetch') out[i].read += records;
    }
    for (const b of out) b.late.sort((p, q) => p - q);
    return { out, span };
  }

  const rounded = v => { const p = 10 ** Math.floor(Math.log10(v)); return [1, 2, 5, 10].map(k => k * p).find(k => k >= v); };

  // drawCharts has throughput above (written, and read as a line) and latency below (a bar to the worst, a dot for the median).
  function drawCharts() {
    const h = 70, gap = 26, height = 2 * (h + gap) + 4;
    const c = sharp(charts, width, height);
    const { out, span } = measure(), w = inner() / out.length, perSecond = 1e9 / span;
    const frame = (title, y, max, unit, least) => {
      c.fillStyle = colours('grid'); c.fillRect(gutter, y + h, inner(), 1); c.fillRect(gutter, y, inner(), 1);
      c.fillStyle = colours('soft'); c.textAlign = 'left'; c.fillText(title, gutter, y - 10);
      c.textAlign = 'right'; c.fillText(unit(max), gutter - 5, y + 5); c.fillText(least, gutter - 5, y + h);
    };
    drawBands(c, 0, height);
    const most = rounded(Math.max(1, ...out.map(b => Math.max(b.wrote, b.read))) * perSecond);
    let y = gap - 6;
    frame('records a second: ▮ written  ─ read', y, most, v => v >= 1e3 ? v / 1e3 + 'k' : String(+v.toPrecision(2)), '0');
    c.fillStyle = colours('ok');
    out.forEach((b, i) => { const v = b.wrote * perSecond / most * h; c.fillRect(gutter + i * w, y + h - v, Math.max(1, w - 1), v); });
    c.strokeStyle = colours('network'); c.lineWidth = 1.2; c.beginPath();
    out.forEach((b, i) => { const py = y + h - b.read * perSecond / most * h; i ? c.lineTo(gutter + (i + .5) * w, py) : c.moveTo(gutter + w / 2, py); });
    c.stroke();
    y += h + gap;
    const low = 4, high = Math.max(6, Math.ceil(Math.log10(Math.max(1, ...out.flatMap(b => b.late.slice(-1))))));
    const level = ns => Math.max(0, (Math.log10(Math.max(ns, 1)) - low) / (high - low)) * h;
    c.fillStyle = colours('soft');
    frame('latency of produce: ● median  │ worst', y, 10 ** high, v => v >= 1e9 ? v / 1e9 + ' s' : v / 1e6 + ' ms', '10 µs');
    for (let e = low + 1; e < high; e++) { c.fillStyle = colours('grid'); c.fillRect(gutter, y + h - level(10 ** e), inner(), 1); }
    out.forEach((b, i) => {
      if (!b.late.length) return;
      const mid = level(b.late[b.late.length >> 1]), max = level(b.late[b.late.length - 1]), px = gutter + (i + .5) * w;
      c.fillStyle = colours('fail'); c.fillRect(px - .5, y + h - max, 1.5, Math.max(1, max - mid));
      c.fillStyle = colours('accent'); c.fillRect(px - 1.5, y + h - mid - 1.5, 3, 3);
    });
    drawChosen(c, 0, height);
  }

  // at finds what is under a point: an operation, else the process.
  function at(px, py) {
    const i = lanes.findIndex(l => py >= l.y && py < l.y + l.h + 3);
    if (i < 0) return { proc: -1, op: -1 };
    let best = -1, near = 6;
    for (const n of model.lanes[i].ops) {
      const op = data.ops[n], a = x(op.a), b = Math.max(x(model.until[n]), a + 2);
      const dx = px < a ? a - px : px > b ? px - b : 0, dy = Math.abs(py - (lanes[i].y + 4 + model.rows[n] * row + row / 2)) / 3;
      const d = dx + dy - (op.w ? 2 : 0);
      if (dx < 6 && d < near) { near = d; best = n; }
    }
    return { proc: i, op: best };
  }

  function describe(px, py) {
    const hit = at(px, py), t = time(px);
    if (hit.op >= 0) { const op = data.ops[hit.op]; return `${op.x}  (${op.b < 0 ? 'no answer' : model.span(op.b - op.a)})`; }
    const near = data.marks.filter(m => m.proc === hit.proc && Math.abs(x(m.time) - px) < 6).map(m => m.text);
    const bands = data.bands.filter(b => b.from <= t && t <= b.to).map(b => b.text);
    return [model.seconds(t, 4), ...near.slice(0, 3), ...bands.slice(0, 3)].join(' · ');
  }

  return { draw, at, time, x, describe, canvas, overview, gutter, small: px => (px - gutter) / inner() * data.end, laneOf: i => lanes[i] };
})();
