//go:build !guest

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this test binary be the program: the scripts run `trialog` as processes of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"trialog": main})
}

// TestScripts runs testdata/script: each with a directory of its own. Commands beside those of testscript:
//
//	broker start NAME [--override k=v ...]   a real process on a port of its own; sets $NAME to its address
//	broker stop NAME                         SIGTERM; the process must end with 0
//	broker kill NAME                         SIGKILL
//	broker restart NAME                      the same again, on the same port and directory
//	exits CODE [<FILE] trialog ARGS...       runs it, with FILE as stdin, and checks its exit code
//	append FILE TO                           what FILE holds is written behind what TO holds
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			all := brokers{}
			env.Values["brokers"] = all
			env.Defer(all.kill)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"broker": brokerCmd, "exits": exitsCmd, "append": appendCmd},
	})
}

func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE [<FILE] trialog ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	var in io.Reader
	if file, ok := strings.CutPrefix(args[0], "<"); ok {
		in = strings.NewReader(ts.ReadFile(file))
		args = args[1:]
	}
	cmd := program(ts, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, ts.Stdout(), ts.Stderr()
	cmd.Dir = ts.MkAbs(".")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func appendCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TO")
	}
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(f.Close())
}

// program is the command `trialog`, which testscript has put first on the script's PATH.
func program(ts *testscript.TestScript, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "trialog"), args...)
	return cmd
}

// brokers are those of one script.
type brokers map[string]*brokerProcess

type brokerProcess struct {
	cmd  *exec.Cmd
	args []string
	addr string
}

// kill ends what a script left running.
func (all brokers) kill() {
	for _, b := range all {
		if b.cmd != nil && b.cmd.ProcessState == nil {
			b.cmd.Process.Kill()
			b.cmd.Wait()
		}
	}
}

func brokerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: broker start|stop|kill|restart NAME")
	}
	verb, name := args[0], args[1]
	all := ts.Value("brokers").(brokers)
	b := all[name]
	switch verb {
	case "start":
		b = &brokerProcess{addr: "127.0.0.1:0", args: append([]string{"--override", "node.id=1", "--override", "log.dirs=" + ts.MkAbs("data-"+name)}, args[2:]...)}
		all[name] = b
		b.start(ts, name)
		ts.Setenv(name, b.addr)
	case "restart":
		b.start(ts, name)
	case "stop":
		ts.Check(b.cmd.Process.Signal(syscall.SIGTERM))
		ts.Check(b.cmd.Wait())
	case "kill":
		ts.Check(b.cmd.Process.Kill())
		b.cmd.Wait()
	default:
		ts.Fatalf("broker: unknown verb %q", verb)
	}
}

// start waits for the line that says that clients are served.
func (b *brokerProcess) start(ts *testscript.TestScript, name string) {
	b.cmd = program(ts, append([]string{"broker", "--json", "--override", "listeners=PLAINTEXT://" + b.addr}, b.args...)...)
	log, err := os.OpenFile(ts.MkAbs("log-"+name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	b.cmd.Stderr = log
	out, err := b.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(b.cmd.Start())
	log.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.cmd.Wait()
		text, _ := os.ReadFile(ts.MkAbs("log-" + name))
		ts.Fatalf("broker %s did not start: %v\n%s", name, err, text)
	}
	go io.Copy(io.Discard, out)
	var up struct {
		Listening string `json:"listening"`
	}
	ts.Check(json.Unmarshal([]byte(line), &up))
	b.addr = strings.Replace(up.Listening, "[::]", "127.0.0.1", 1)
}
