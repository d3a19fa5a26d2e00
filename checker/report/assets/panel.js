// The panel beside the timeline: what is chosen, and what was said and done around that moment. And the list of operations.
const panel = (() => {
  const { data } = model;
  const chosen = document.getElementById('chosen'), around = document.getElementById('around'), who = document.getElementById('who');
  const near = 30, recordsMax = 16, opsMax = 14, listMax = 40;

  const opChip = i => {
    const op = data.ops[i];
    return make('button', { type: 'button', class: 'chip ' + op.o, onclick: () => model.chooseOp(i) }, `${model.seconds(op.a, 4)} ${op.x.slice(0, 90)}`);
  };
  const recordChip = (part, i) => {
    const r = data.parts[part].records[i];
    return make('button', { type: 'button', class: 'chip ' + r.s, onclick: () => model.chooseRecord(part, i) }, `${r.o} ${r.v} (${model.words[r.s]})`);
  };

  function aboutRecord(part, i) {
    const r = data.parts[part].records[i], ops = model.opsOf(part, i), out = [];
    const reads = ops.filter(n => data.ops[n].f === 'fetch'), finals = reads.filter(n => data.ops[n].z);
    out.push(make('p', { class: 'record' }, make('b', {}, strips.text(part, i)), '.'));
    const seen = reads.length ? `read ${reads.length} time${reads.length > 1 ? 's' : ''}, ${finals.length ? 'also when all was over' : 'not when all was over'}` : 'never read';
    out.push(make('p', {}, `It was ${seen}.`));
    const list = make('p', {}), told = [...(r.w >= 0 ? [r.w] : []), ...ops.filter(n => n !== r.w)];
    for (const n of told.slice(0, opsMax)) list.append(opChip(n));
    if (told.length > opsMax) list.append(` and ${told.length - opsMax} more`);
    out.push(make('h3', {}, 'Operations that wrote or showed it'), list);
    return out;
  }

  function aboutOp(i) {
    const op = data.ops[i], out = [];
    out.push(make('p', {}, make('b', {}, op.f + ' by ' + data.procs[op.p].name), `: ${model.words[op.o]}`, op.w ? ', a witness' : '', op.z ? ', part of the final read' : ''));
    out.push(make('p', {}, make('code', {}, op.x)));
    out.push(make('p', { class: 'hint' }, op.b < 0 ? `sent at ${model.seconds(op.a)}, never answered` : `${model.seconds(op.a)} to ${model.seconds(op.b)}, ${model.span(op.b - op.a)}`));
    const ids = (op.r || []).flatMap(([a, b]) => Array.from({ length: Math.min(b - a + 1, recordsMax + 1) }, (_, k) => a + k));
    if (ids.length) {
      const list = make('p', {});
      for (const id of ids.slice(0, recordsMax)) list.append(recordChip(op.t, id));
      if (ids.length > recordsMax) list.append(' and more');
      out.push(make('h3', {}, op.f === 'produce' ? 'Records it wrote' : 'Records it was shown'), list);
    }
    return out;
  }

  function drawChosen() {
    const { time, op, part, record, step } = model.chosen, out = [];
    if (time < 0) return;
    if (step !== undefined && model.story >= 0) {
      const s = data.stories[model.story].steps[step];
      out.push(make('p', {}, make('b', {}, `${step + 1}. ${s.title}`), ` at ${model.seconds(s.time)}`));
      if (op < 0) out.push(make('p', {}, make('code', {}, s.text)));
    }
    if (op >= 0) out.push(...aboutOp(op));
    if (part >= 0 && record >= 0) out.push(...aboutRecord(part, record));
    if (!out.length) out.push(make('p', {}, make('b', {}, model.seconds(time))));
    chosen.replaceChildren(...out);
    chosen.scrollTop = 0;
  }

  const signs = m => m.kind === 'event' ? '· ' : m.kind !== 'fault' ? '' : /^(start|resume|heal)\b| ends$/.test(m.text) ? '▲ ' : '✕ ';

  function drawAround() {
    const t = Math.max(0, model.chosen.time), only = +who.value;
    const list = model.moments.filter(m => only < 0 || m.proc === only);
    let at = list.findIndex(m => m.at > t);
    if (at < 0) at = list.length;
    const rows = [];
    const from = Math.max(0, at - near), to = Math.min(list.length, at + near);
    for (let i = from; i <= to; i++) {
      if (i === at && model.chosen.time >= 0) rows.push(make('li', { class: 'now' }, `${model.seconds(t)}  chosen`));
      if (i === to) break;
      const m = list[i], name = m.proc >= 0 ? data.procs[m.proc].name : '';
      rows.push(make('li', { class: m.kind }, make('span', { class: 'when' }, model.seconds(m.time)), ' ', make('span', { class: 'who' }, name), ' ', signs(m) + m.text));
    }
    if (!rows.length) rows.push(make('li', {}, 'Nothing was said or done.'));
    around.replaceChildren(...rows);
    const now = around.querySelector('.now');
    if (now) around.scrollTop = Math.max(0, now.offsetTop - around.offsetTop - around.clientHeight / 2);
  }

  const find = document.getElementById('find'), found = document.getElementById('found'), list = document.getElementById('list');
  function drawList() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean), rows = [];
    let n = 0;
    data.ops.forEach((op, i) => {
      const text = op.x.toLowerCase();
      if (!words.every(w => text.includes(w)) || n++ >= listMax) return;
      rows.push(make('li', {}, make('button', { type: 'button', class: op.o, onclick: () => model.chooseOp(i) }, `${model.seconds(op.a)} ${op.x}`)));
    });
    found.textContent = `${n.toLocaleString('en')} of ${data.ops.length.toLocaleString('en')} operations` + (n > listMax ? `, the first ${listMax} below` : '');
    list.replaceChildren(...rows);
  }

  function build() {
    data.procs.forEach((p, i) => who.append(make('option', { value: i }, `${p.name} (${p.kind})`)));
    who.addEventListener('change', drawAround);
    find.addEventListener('input', drawList);
    drawList();
    drawAround();
  }
  return { build, draw() { drawChosen(); drawAround(); } };
})();
