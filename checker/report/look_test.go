//go:build browser

package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/checker/oracle"
)

// written is a report in a file.
func written(t *testing.T, in *Input) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, in))
	return store(t, b.Bytes())
}

func store(t *testing.T, page []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, page, 0o644))
	return file
}

// lostRecord is a record that the strips call lost, as JavaScript: its partition, its index and where its cell is.
const lostRecord = `(() => { const p = report.model.data.parts.findIndex(p => p.records.some(r => r.s === 'lost'));
	const i = report.model.data.parts[p].records.findIndex(r => r.s === 'lost');
	document.querySelectorAll('.strip canvas')[p].scrollIntoView({block: 'center'});
	return {part: p, record: i, writer: report.model.data.parts[p].records[i].w, ...report.strips.where(p, i)}; })()`

func TestClickOnALostCellSelectsItsOperation(t *testing.T) {
	b := startBrowser(t)
	file := written(t, small(t))
	b.open(file, 1600, 1000)
	b.shot("small-wide")
	var lost struct {
		Part, Record, Writer int
		X, Y                 float64
	}
	b.eval(lostRecord, &lost)
	b.click(lost.X, lost.Y)
	require.Equal(t, lost.Writer, b.number("report.model.chosen.op"))
	require.Equal(t, lost.Record, b.number("report.model.chosen.record"))
	chosen := b.text("document.getElementById('chosen').innerText")
	require.Contains(t, chosen, "t-0 offset 3: d, lost")
	require.Contains(t, chosen, "c1/0#2 produce t-0 [c d] acks=all -> ok offset 2")
	b.quiet(file)
}

// The story: each step selects its moment, its operation and its record, and what was said then stands beside it.
func TestStepsOfAStory(t *testing.T) {
	b := startBrowser(t)
	file := written(t, small(t))
	b.open(file, 1600, 1000)
	require.Contains(t, b.text("document.querySelector('.step[aria-current=true] .title').innerText"), "Acknowledged", "the page begins at the acknowledgement")
	b.clickOn(".story[open] .step.crash")
	require.Equal(t, 400_000_000, b.number("report.model.chosen.time"))
	around := b.text("document.getElementById('around').innerText")
	require.Contains(t, around, "powercut b1")
	require.Contains(t, around, "recovery of t-0: </script><b>cut</b>")
	require.Equal(t, 1, b.number("document.querySelectorAll('.step[aria-current=true]').length"))

	stories := b.number("report.model.data.stories.length")
	require.Greater(t, stories, 1)
	b.clickOn(".others > summary")
	b.clickOn(".others .story summary")
	require.NotEqual(t, b.number("+document.querySelector('.story[open]').dataset.story"), b.number("report.model.story"), "an opened story is told on the timeline")
	b.quiet(file)
}

// Everything can be reached without a pointer.
func TestKeys(t *testing.T) {
	b := startBrowser(t)
	file := written(t, small(t))
	b.open(file, 1600, 1000)
	b.eval("document.getElementById('lanes').focus()", nil)
	b.key("Home")
	require.Less(t, b.number("report.model.view.from"), 1)
	b.key("n")
	place := "report.model.lanes[report.model.data.ops[report.model.chosen.op].p].ops.indexOf(report.model.chosen.op)"
	first := b.number(place)
	b.key("n")
	require.Equal(t, first+1, b.number(place), "the next operation of the same process")
	b.key("p")
	require.Equal(t, first, b.number(place))
	span := b.number("report.model.view.to - report.model.view.from")
	b.key("+")
	require.Less(t, b.number("report.model.view.to - report.model.view.from"), span)
	b.eval("document.querySelector('.strip canvas').focus()", nil)
	b.eval("report.model.chooseRecord(0, 0)", nil)
	b.key("ArrowRight")
	require.Equal(t, 1, b.number("report.model.chosen.record"))
	require.Contains(t, b.text("document.getElementById('chosen').innerText"), "t-0 offset 1: b")
	b.quiet(file)
}

func TestTimelineSearchThemeAndCopy(t *testing.T) {
	b := startBrowser(t)
	file := written(t, small(t))
	b.open(file, 1600, 1000)
	b.eval("report.model.look(0, report.model.data.end); document.getElementById('lanes').scrollIntoView({block: 'center'})", nil)
	b.settle()
	var at struct{ X, Y float64 }
	b.eval(`(() => { const r = report.timeline.canvas.getBoundingClientRect(), op = report.model.data.ops[2], l = report.timeline.laneOf(op.p);
		return {x: r.x + report.timeline.x(op.a), y: r.y + l.y + l.h / 2}; })()`, &at)
	b.click(at.X, at.Y)
	require.Equal(t, 2, b.number("report.model.chosen.op"))

	b.eval("document.getElementById('find').focus()", nil)
	for _, c := range "LOST" {
		b.key(string(c))
	}
	require.Contains(t, b.text("document.getElementById('found').innerText"), "1 of 8 operations")
	b.clickOn("#list button")
	require.Contains(t, b.text("document.getElementById('chosen').innerText"), "CONNECTION_LOST")

	light := b.text("getComputedStyle(document.body).backgroundColor")
	b.clickOn("#theme")
	require.NotEqual(t, light, b.text("getComputedStyle(document.body).backgroundColor"))
	b.eval("scrollTo(0, 0)", nil)
	b.settle()
	b.shot("small-dark")
	b.clickOn("#copy")
	require.Equal(t, "copied", b.text("document.getElementById('copy').innerText"))
	b.quiet(file)
}

// Whoever hears the page instead of seeing it finds a name on everything that can be used.
func TestEverythingHasAName(t *testing.T) {
	b := startBrowser(t)
	file := written(t, small(t))
	b.open(file, 1600, 1000)
	nameless := b.text(`[...document.querySelectorAll('button, canvas, input, select, summary, [tabindex]')].filter(e => {
		const label = e.closest('label') || e.labels?.[0];
		return !(e.getAttribute('aria-label') || e.textContent.trim() || label?.innerText?.trim() || e.tagName === 'PRE');
	}).map(e => e.outerHTML.slice(0, 80)).join('\n')`)
	require.Empty(t, nameless)
	require.Equal(t, 1, b.number("document.querySelectorAll('h1').length"))
	ids := b.text("[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join()")
	require.Empty(t, ids, "an id stands twice")
	missing := b.text("[...document.querySelectorAll('[aria-labelledby]')].map(e => e.getAttribute('aria-labelledby')).filter(id => !document.getElementById(id)).join()")
	require.Empty(t, missing)
}

// No width makes the page scroll sideways.
func TestWidths(t *testing.T) {
	b := startBrowser(t)
	in := small(t)
	in.Replay = strings.Repeat("trialog-with-a-very-long-name", 8)
	in.Identity = append(in.Identity, Fact{"source of the program", strings.Repeat("0123456789abcdef", 4)})
	for _, width := range []int{320, 400, 700, 1000, 1600, 2400} {
		file := written(t, in)
		b.open(file, width, 900)
		require.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), width)
		b.quiet(file)
	}
	b.open(written(t, small(t)), 400, 3000)
	b.shot("small-narrow")
}

// What stands left of the timeline has room there.
func TestGutter(t *testing.T) {
	b := startBrowser(t)
	const widest = "(() => { const c = document.createElement('canvas').getContext('2d'); c.font = '12px system-ui, \"DejaVu Sans\", sans-serif';" +
		" return Math.ceil(Math.max(...['100 ms', ...report.model.data.procs.map(p => p.name)].map(t => c.measureText(t).width))) })()"
	for _, name := range []string{"c1", "producer-14"} {
		in := small(t)
		for i := range in.History {
			if in.History[i].Proc == "c1" {
				in.History[i].Proc = name
			}
		}
		b.open(written(t, in), 1000, 900)
		require.LessOrEqual(t, b.number(widest)+8, b.number("report.timeline.gutter"), name)
		b.shot("gutter-" + name)
	}
}

const elementsMax = 1_200

// Ten thousand operations cost no more elements than ten: they are drawn, not listed.
func TestManyOperations(t *testing.T) {
	b := startBrowser(t)
	in := many(10_000)
	file := written(t, in)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(sizeMax))
	b.open(file, 1600, 1000)
	require.GreaterOrEqual(t, b.number("report.model.data.ops.length"), 10_000)
	require.Less(t, b.number("document.getElementsByTagName('*').length"), elementsMax)
	b.shot("many-wide")
	for i := range 20 {
		b.eval(fmt.Sprintf("report.model.chooseOp(%d); report.model.zoom(0.6)", i*500), nil)
		b.settle()
	}
	b.eval("const find = document.getElementById('find'); find.value = 'produce'; find.dispatchEvent(new Event('input'))", nil)
	b.eval("report.model.chooseRecord(0, 100)", nil)
	b.settle()
	require.Less(t, b.number("document.getElementsByTagName('*').length"), elementsMax)
	b.quiet(file)
}

// A broker that hands out wild offsets does not hang its report.
func TestWildOffsets(t *testing.T) {
	b := startBrowser(t)
	in := small(t)
	for i := range in.History {
		if op := &in.History[i]; len(op.Records) > 2 {
			op.Records[2].Offset = history.MaxOffset
		}
	}
	in.Verdict = oracle.Judge(oracle.Input{History: in.History})
	file := written(t, in)
	b.open(file, 1600, 900)
	b.eval("report.model.chooseRecord(0, report.model.data.parts[0].records.length - 1)", nil)
	b.settle()
	require.Contains(t, b.text("document.getElementById('chosen').innerText"), ": e, ")
	b.quiet(file)
}

// Reports of every kind of history that the judges know open without a complaint.
func TestCorpusOpens(t *testing.T) {
	b := startBrowser(t)
	names, inputs := samples(t)
	inputs["empty"] = &Input{Verdict: &oracle.Verdict{Result: oracle.Unknown}}
	for _, name := range append(names, "empty") {
		file := written(t, inputs[name])
		b.open(file, 1200, 800)
		b.eval("for (const s of document.querySelectorAll('.step, .bad button, #list button')) s.click()", nil)
		b.settle()
		b.quiet(file)
	}
}

func TestListOpens(t *testing.T) {
	b := startBrowser(t)
	var page bytes.Buffer
	rows := []RunRow{
		{Name: "a6ba42304fb67e65", Experiment: "001-acked-records-survive-a-crash", Cell: "powercut-flush", World: "sim", Engine: "native", Seed: 1,
			RulesOff: []string{"replica.visible-after-flush"}, Result: oracle.Invalid, Brief: "uncommitted-read", Age: "3 min"},
		{Name: "f00", Experiment: "001-acked-records-survive-a-crash", Cell: "kill", World: "real", Seed: 12, Result: oracle.Valid, Age: "2 days"},
	}
	require.NoError(t, WriteList(&page, "runs", rows))
	file := store(t, page.Bytes())
	for _, width := range []int{400, 1600} {
		b.open(file, width, 600)
		require.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), width)
		b.shot(fmt.Sprintf("list-%d", width))
		b.quiet(file)
	}
}
