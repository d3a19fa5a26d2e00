// Command raft is one of a few hashicorp/raft nodes over plain TCP, unaware of any simulator: it proposes numbers
// while it leads and prints what it applied, so that the outputs of all nodes can be compared.
//
//	raft NAME LAST_SECOND PEER...
//
// Every name resolves to a host; the node listens on port 7000 of its own. It stops proposing at LAST_SECOND and ends
// five seconds later.
package main

import (
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const port = ":7000"

// layer is raft's view of the network: host names rather than addresses.
type layer struct {
	net.Listener
	self net.Addr
}

func (l layer) Addr() net.Addr { return l.self }

func (layer) Dial(a raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", string(a), timeout)
}

type hostAddr string

func (hostAddr) Network() string  { return "tcp" }
func (a hostAddr) String() string { return string(a) }

// applied is a state machine that remembers its commands in order.
type applied struct {
	mu   sync.Mutex
	cmds []string
}

func (a *applied) Apply(l *raft.Log) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cmds = append(a.cmds, string(l.Data))
	return nil
}

func (a *applied) Snapshot() (raft.FSMSnapshot, error) {
	return nil, fmt.Errorf("raft example: snapshots are switched off")
}
func (a *applied) Restore(io.ReadCloser) error { return fmt.Errorf("raft example: no snapshots") }

func main() {
	if len(os.Args) < 4 {
		fmt.Println("usage: raft NAME LAST_SECOND PEER...")
		os.Exit(3)
	}
	last, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := run(os.Args[1], time.Duration(last)*time.Second, os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(name string, last time.Duration, peers []string) error {
	start := time.Now()
	l, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	cfg := raft.DefaultConfig()
	cfg.LocalID = raft.ServerID(name)
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stdout, Name: name})
	cfg.SnapshotThreshold = 1 << 30
	transport := raft.NewNetworkTransport(layer{l, hostAddr(name + port)}, 3, time.Second, io.Discard)
	store, fsm := raft.NewInmemStore(), &applied{}
	var servers raft.Configuration
	for _, p := range peers {
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(p), Address: raft.ServerAddress(p + port)})
	}
	snaps := raft.NewInmemSnapshotStore()
	if err := raft.BootstrapCluster(cfg, store, store, snaps, transport, servers); err != nil {
		return err
	}
	r, err := raft.NewRaft(cfg, fsm, store, store, snaps, transport)
	if err != nil {
		return err
	}
	committed := 0
	for i := 0; time.Since(start) < last; i++ {
		if r.State() == raft.Leader {
			cmd := fmt.Sprintf("%s-%d", name, i)
			if r.Apply([]byte(cmd), time.Second).Error() == nil {
				committed++
				fmt.Println("committed", cmd)
			}
		}
		time.Sleep(time.Duration(20+rand.Intn(60)) * time.Millisecond)
	}
	time.Sleep(5 * time.Second)
	fsm.mu.Lock()
	defer fsm.mu.Unlock()
	for i, c := range fsm.cmds {
		fmt.Println("applied", i, c)
	}
	fmt.Printf("done: committed %d, applied %d\n", committed, len(fsm.cmds))
	return nil
}
