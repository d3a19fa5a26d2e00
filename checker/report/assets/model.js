'use strict';
// What the run was, what is looked at, and what is chosen. Everything else draws this and listens to it.
const model = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const listeners = [];
  const self = {
    data,
    view: { from: 0, to: data.end },  // ns, what the timeline shows
    chosen: { time: -1, op: -1, part: -1, record: -1 },
    story: -1,                        // index of the story whose steps are flagged
    onChange(f) { listeners.push(f); },
    changed(what) { for (const f of listeners) f(what); },
  };

  // rows gives each operation of a process a row of its lane, so that those which overlap do not hide each other.
  const rowsMax = 4;
  self.rows = new Int8Array(data.ops.length);
  self.lanes = data.procs.map(() => ({ ops: [], rows: 1 }));
  // until is where an operation's bar ends: at its answer; without one, where its row is needed again.
  self.until = Float64Array.from(data.ops, op => op.b < 0 ? data.end : op.b);
  const busy = data.procs.map(() => []), last = data.procs.map(() => []);
  data.ops.forEach((op, i) => {
    const lane = self.lanes[op.p];
    const until = busy[op.p];
    let row = until.findIndex(t => t <= op.a);
    if (row < 0) row = until.length < rowsMax ? until.length : rowsMax - 1;
    const before = data.ops[last[op.p][row]];
    if (before && before.b < 0) self.until[last[op.p][row]] = op.a;
    until[row] = Math.max(op.a, op.b);
    last[op.p][row] = i;
    self.rows[i] = row;
    lane.rows = Math.max(lane.rows, row + 1);
    lane.ops.push(i);
  });

  self.seconds = (ns, digits = 6) => ns < 0 ? '?' : (ns / 1e9).toFixed(digits) + ' s';
  self.span = ns => ns < 1e6 ? (ns / 1e3).toFixed(0) + ' µs' : ns < 1e9 ? (ns / 1e6).toFixed(2) + ' ms' : (ns / 1e9).toFixed(3) + ' s';
  self.words = {
    read: 'acknowledged and read', acked: 'acknowledged, never read', unacked: 'never acknowledged', lost: 'lost',
    reused: 'offset reused', corrupt: 'corrupt', ok: 'done', fail: 'failed', info: 'outcome unknown', open: 'no answer',
  };
  self.touches = (op, record) => (op.r || []).some(([a, b]) => a <= record && record <= b);
  self.opsOf = (part, record) => {
    const out = [];
    data.ops.forEach((op, i) => { if (op.t === part && self.touches(op, record)) out.push(i); });
    return out;
  };
  self.firstRecord = op => op.r ? op.r[0][0] : -1;

  // moments are output, faults and events together, in order of time. A line without a time stands behind the one before.
  self.moments = [];
  let at = 0;
  for (const l of data.output) {
    if (l.time >= 0) at = l.time;
    self.moments.push({ time: l.time, at, proc: l.proc, kind: l.stream, text: l.time < 0 ? l.text : l.text.replace(/^time=\S+ /, '') }); // the row says when
  }
  for (const m of data.marks) self.moments.push({ time: m.time, at: m.time, proc: m.proc, kind: m.kind === 'fault' ? 'fault' : 'event', text: m.text });
  self.moments = self.moments.map((m, i) => [m, i]).sort((x, y) => x[0].at - y[0].at || x[1] - y[1]).map(x => x[0]);

  self.look = (from, to) => {
    const least = 1000, pad = data.end * 0.02;
    let span = Math.max(least, Math.min(to - from, data.end + 2 * pad));
    from = Math.max(-pad, Math.min(from, data.end + pad - span));
    self.view = { from, to: from + span };
    self.changed('view');
  };
  self.zoom = (factor, around) => {
    const { from, to } = self.view;
    const at = around === undefined ? (from + to) / 2 : around;
    self.look(at - (at - from) * factor, at + (to - at) * factor);
  };
  self.showTime = ns => {
    const { from, to } = self.view, span = to - from;
    if (ns < from + span * 0.03 || ns > to - span * 0.03) self.look(ns - span / 2, ns + span / 2);
  };
  self.lookAtStory = () => {
    const steps = self.story >= 0 ? data.stories[self.story].steps : [];
    if (!steps.length) return self.look(0, data.end);
    const times = steps.map(s => s.time).concat(steps.filter(s => s.op >= 0).map(s => data.ops[s.op].a));
    const a = Math.min(...times), b = Math.max(...times), pad = Math.max((b - a) * 0.12, 5e6);
    self.look(a - pad, b + pad);
  };

  self.chooseOp = (i, time) => {
    const op = data.ops[i];
    self.chosen = { time: time ?? (op.b < 0 ? op.a : op.b), op: i, part: op.t, record: self.firstRecord(op) };
    self.showTime(self.chosen.time);
    self.changed('chosen');
  };
  self.chooseRecord = (part, record) => {
    const r = data.parts[part].records[record];
    const op = r.w >= 0 ? r.w : (self.opsOf(part, record)[0] ?? -1);
    const time = op < 0 ? self.chosen.time : Math.max(data.ops[op].a, data.ops[op].b);
    self.chosen = { time, op, part, record };
    self.showTime(time);
    self.changed('chosen');
  };
  self.chooseTime = time => { self.chosen = { time, op: -1, part: -1, record: -1 }; self.changed('chosen'); };
  self.chooseStep = (story, step) => {
    const s = data.stories[story], x = s.steps[step];
    self.story = story;
    const op = x.op >= 0 ? x.op : -1;
    self.chosen = { time: x.time, op, part: s.part, record: s.record, step };
    self.showTime(x.time);
    self.changed('chosen');
  };
  self.tellStory = story => { self.story = story; self.lookAtStory(); self.changed('story'); };
  return self;
})();

// colours are those of the page's theme.
const colours = (() => {
  let cache = {};
  const get = name => cache[name] ??= getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  get.forget = () => { cache = {}; };
  return get;
})();

// sharp sizes a canvas for the screen's pixels and gives a context in CSS pixels.
function sharp(canvas, width, height) {
  const k = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * k);
  canvas.height = Math.round(height * k);
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(k, 0, 0, k, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = '12px system-ui, "DejaVu Sans", sans-serif';
  c.textBaseline = 'middle';
  return c;
}

// make builds an element.
function make(tag, attrs, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== false) e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}

// tip shows a text beside the pointer; none hides it.
const tip = (() => {
  let box;
  return (text, event) => {
    if (!text) { if (box) box.hidden = true; return; }
    if (!box) document.body.append(box = make('div', { id: 'tip', 'aria-hidden': 'true' }));
    box.hidden = false;
    box.textContent = text;
    const x = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - box.offsetWidth - 6);
    box.style.left = Math.max(4, x) + 'px';
    box.style.top = event.pageY + 16 + 'px';
  };
})();
