// Wires the page: theme, story, keys, pointers.
(() => {
  const { data } = model, canvas = timeline.canvas, root = document.documentElement;
  const stories = [...document.querySelectorAll('.story')];
  const drawAll = () => { timeline.draw(); strips.draw(); };
  let due = 0;
  const soon = () => { due ||= requestAnimationFrame(() => { due = 0; drawAll(); }); };

  function markSteps() {
    for (const b of document.querySelectorAll('.step')) {
      const here = +b.closest('.story').dataset.story === model.story && +b.dataset.step === model.chosen.step;
      b.setAttribute('aria-current', here);
    }
  }
  model.onChange(what => {
    soon();
    if (what === 'chosen') { panel.draw(); markSteps(); }
  });

  for (const s of stories) {
    const n = +s.dataset.story;
    s.addEventListener('toggle', () => { if (s.open && model.story !== n) { model.tellStory(n); } });
    s.addEventListener('click', e => {
      const b = e.target.closest('.step');
      if (!b) return;
      if (model.story !== n) model.tellStory(n);
      model.chooseStep(n, +b.dataset.step);
    });
  }

  document.querySelector('.tools').addEventListener('click', e => {
    const kind = e.target.dataset.zoom;
    if (kind === 'in') model.zoom(0.5);
    if (kind === 'out') model.zoom(2);
    if (kind === 'all') model.look(0, data.end);
    if (kind === 'story') model.lookAtStory();
  });

  // Pointers: drag moves, a click chooses, two fingers zoom; on the bar of the whole run they move what is looked at.
  const down = new Map();
  let moved = 0, pinch = 0, bar = false;
  const local = e => { const b = canvas.getBoundingClientRect(); return { x: e.clientX - b.left, y: e.clientY - b.top }; };
  const toBar = x => { const span = model.view.to - model.view.from, t = timeline.small(x); model.look(t - span / 2, t + span / 2); };
  canvas.addEventListener('pointerdown', e => {
    const p = local(e);
    down.set(e.pointerId, p);
    canvas.setPointerCapture(e.pointerId);
    moved = 0; pinch = 0; bar = p.y < timeline.overview;
    if (bar) toBar(p.x);
  });
  canvas.addEventListener('pointermove', e => {
    const p = local(e), was = down.get(e.pointerId);
    if (!was) return tip(timeline.describe(p.x, p.y), e);
    down.set(e.pointerId, p);
    if (bar) return toBar(p.x);
    if (down.size === 2) {
      const [a, b] = [...down.values()], d = Math.abs(a.x - b.x) + 1;
      if (pinch) model.zoom(pinch / d, timeline.time((a.x + b.x) / 2));
      pinch = d; moved = 99;
      return;
    }
    moved += Math.abs(p.x - was.x);
    if (moved > 4) { tip(''); const dt = timeline.time(was.x) - timeline.time(p.x); model.look(model.view.from + dt, model.view.to + dt); }
  });
  canvas.addEventListener('pointerup', e => {
    const p = local(e);
    if (down.delete(e.pointerId) && moved <= 4 && !bar) {
      const hit = timeline.at(p.x, p.y);
      hit.op >= 0 ? model.chooseOp(hit.op) : model.chooseTime(Math.max(0, Math.min(data.end, timeline.time(p.x))));
    }
  });
  canvas.addEventListener('pointercancel', e => down.delete(e.pointerId));
  canvas.addEventListener('pointerleave', () => tip(''));
  canvas.addEventListener('dblclick', e => model.zoom(0.25, timeline.time(local(e).x)));
  canvas.addEventListener('wheel', e => {
    const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.shiftKey ? e.deltaY : 0;
    if (!e.ctrlKey && !e.metaKey && !sideways) return; // the page scrolls
    e.preventDefault();
    if (sideways) { const dt = timeline.time(sideways) - timeline.time(0); model.look(model.view.from + dt, model.view.to + dt); }
    else model.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 100))), timeline.time(local(e).x));
  }, { passive: false });

  // Keys on the timeline: move, zoom, and walk the operations of a process.
  let lane = Math.max(0, data.procs.findIndex(p => p.kind !== 'broker'));
  function walk(step) {
    const ops = model.lanes[lane]?.ops || [];
    if (!ops.length) return;
    const now = model.chosen.op >= 0 && data.ops[model.chosen.op].p === lane ? ops.indexOf(model.chosen.op) : ops.findIndex(i => data.ops[i].a >= model.view.from) - step;
    model.chooseOp(ops[Math.max(0, Math.min(ops.length - 1, now + step))]);
  }
  canvas.addEventListener('keydown', e => {
    const span = model.view.to - model.view.from;
    const move = k => model.look(model.view.from + span * k, model.view.to + span * k);
    const keys = {
      ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), '+': () => model.zoom(0.5), '=': () => model.zoom(0.5), '-': () => model.zoom(2),
      Home: () => model.look(0, data.end), n: () => walk(1), p: () => walk(-1),
      ArrowUp: () => { lane = Math.max(0, lane - 1); walk(0); }, ArrowDown: () => { lane = Math.min(data.procs.length - 1, lane + 1); walk(0); },
    };
    if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); keys[e.key](); }
  });

  // Theme: the system's until somebody asks for the other.
  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    colours.forget();
    soon();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { colours.forget(); soon(); });

  const copy = document.getElementById('copy');
  copy.addEventListener('click', async () => {
    const line = document.getElementById('replay');
    try {
      await navigator.clipboard.writeText(line.textContent);
    } catch { // a file opened from the disk may not have the clipboard
      getSelection().selectAllChildren(line);
      document.execCommand('copy');
    }
    copy.textContent = 'copied';
    setTimeout(() => { copy.textContent = 'copy'; }, 1500);
  });

  strips.build();
  panel.build();
  const lead = stories.find(s => s.open);
  if (lead) {
    model.tellStory(+lead.dataset.story);
    const steps = data.stories[model.story].steps, ack = steps.findIndex(s => s.role === 'ack');
    if (steps.length) model.chooseStep(model.story, Math.max(0, ack));
  }
  new ResizeObserver(soon).observe(canvas);
  drawAll();
  window.report = { model, strips, timeline }; // for whoever asks the page by script
})();
