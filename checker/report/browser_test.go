//go:build browser

package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium that is spoken to over two pipes, in the DevTools protocol: JSON objects, each ended by a
// zero byte.
type browser struct {
	t       *testing.T
	to      io.WriteCloser
	answers chan message
	session string
	last    int
	loaded  int
	errors  []string // what the page complained of
	asked   []string // what it requested
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// patience is how long an answer of the browser may take before it counts as hung; no test measures anything by it.
const patience = 60 * time.Second

func startBrowser(t *testing.T) *browser {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	require.NoError(t, err, "these tests need chromium")
	inRead, inWrite, err := os.Pipe()
	require.NoError(t, err)
	outRead, outWrite, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(binary, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{inRead, outWrite} // descriptors 3 and 4
	require.NoError(t, cmd.Start())
	inRead.Close()
	outWrite.Close()
	b := &browser{t: t, to: inWrite, answers: make(chan message, 4096)}
	go b.listen(outRead)
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		inWrite.Close()
		cmd.Wait()
		outRead.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.into(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	b.into(b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil)
	}
	return b
}

func (b *browser) listen(from io.Reader) {
	defer close(b.answers)
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) == nil {
			b.answers <- m
		}
	}
}

// call asks the browser something and notes what happens until it answers.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.last++
	ask := map[string]any{"id": b.last, "method": method}
	if params != nil {
		ask["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		m, err := b.next()
		require.NoError(b.t, err, method)
		if m.ID == b.last {
			require.Nil(b.t, m.Error, "%s: %+v", method, m.Error)
			return m.Result
		}
	}
}

// next is the next message; events are noted.
func (b *browser) next() (message, error) {
	select {
	case m, ok := <-b.answers:
		if !ok {
			return m, errors.New("the browser is gone")
		}
		switch m.Method {
		case "Page.loadEventFired":
			b.loaded++
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			b.errors = append(b.errors, string(m.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			_ = json.Unmarshal(m.Params, &p)
			b.asked = append(b.asked, p.Request.URL)
		}
		return m, nil
	case <-time.After(patience):
		return message{}, errors.New("the browser does not answer")
	}
}

func (b *browser) into(text json.RawMessage, v any) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal(text, v))
}

// open shows a file in a window of a size, and waits until it has been drawn.
func (b *browser) open(file string, width, height int) {
	b.t.Helper()
	b.errors, b.asked = nil, nil
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	before := b.loaded
	b.call("Page.navigate", map[string]any{"url": "file://" + file})
	for b.loaded == before {
		_, err := b.next()
		require.NoError(b.t, err)
	}
	b.settle()
}

// settle waits until what was asked for is on the screen.
func (b *browser) settle() {
	b.t.Helper()
	b.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))", nil)
}

// eval runs an expression in the page; its value goes into v unless that is nil.
func (b *browser) eval(expression string, v any) {
	b.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.into(b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}), &out)
	require.Empty(b.t, string(out.ExceptionDetails), expression)
	if v != nil {
		b.into(out.Result.Value, v)
	}
}

func (b *browser) text(expression string) string {
	b.t.Helper()
	var s string
	b.eval(expression, &s)
	return s
}

func (b *browser) number(expression string) int {
	b.t.Helper()
	var n float64
	b.eval(expression, &n)
	return int(n)
}

// click presses the mouse at a point of the window.
func (b *browser) click(x, y float64) {
	b.t.Helper()
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})
	}
	b.settle()
}

// clickOn clicks the middle of the element that a selector finds.
func (b *browser) clickOn(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();
		return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	b.click(at.X, at.Y)
}

func (b *browser) key(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		p := map[string]any{"type": kind, "key": key}
		if len(key) == 1 && kind == "keyDown" {
			p["text"] = key
		}
		b.call("Input.dispatchKeyEvent", p)
	}
	b.settle()
}

// shots is where pictures of the pages go, for people; empty: none are made.
var shots = os.Getenv("TRIALOG_REPORT_SHOTS")

func (b *browser) shot(name string) {
	b.t.Helper()
	if shots == "" {
		return
	}
	var out struct{ Data string }
	b.into(b.call("Page.captureScreenshot", map[string]any{"format": "png"}), &out)
	picture, err := base64.StdEncoding.DecodeString(out.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(shots, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(shots, name+".png"), picture, 0o644))
}

// quiet demands that the page complained of nothing and asked for nothing but itself.
func (b *browser) quiet(file string) {
	b.t.Helper()
	require.Empty(b.t, b.errors)
	for _, url := range b.asked {
		require.True(b.t, url == "file://"+file || url == "data:,", "the page asked for %s", url)
	}
}
