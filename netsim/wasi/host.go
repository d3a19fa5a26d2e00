package wasi

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"trialog/netsim/kernel"
)

var le = binary.LittleEndian

// call serves one import: it gets the process, the caller's memory and the operands, and returns the WASI errno.
type call func(g *guest, m memory, a []uint64) uint64

// memory is the guest's linear memory. A bad address ends the guest: only a broken engine or overlay makes one.
type memory struct{ api.Memory }

func (m memory) bytes(ptr, n uint64) []byte {
	b, ok := m.Read(uint32(ptr), uint32(n))
	if !ok {
		panic(fmt.Sprintf("wasi: guest address %d+%d out of range", ptr, n))
	}
	return b
}

func (m memory) text(ptr, n uint64) string  { return string(m.bytes(ptr, n)) }
func (m memory) put32(ptr uint64, v uint32) { le.PutUint32(m.bytes(ptr, 4), v) }
func (m memory) put64(ptr uint64, v uint64) { le.PutUint64(m.bytes(ptr, 8), v) }

type export struct {
	module, name string
	params       string // one letter an operand: i (i32) or l (i64)
	fn           call
}

const (
	preview1 = "wasi_snapshot_preview1"
	simulate = "netsim"
)

// exports lists everything the simulated system has. Params are those of the WASI documents.
var exports = []export{
	{preview1, "args_sizes_get", "ii", argsSizes}, {preview1, "args_get", "ii", argsGet},
	{preview1, "environ_sizes_get", "ii", environSizes}, {preview1, "environ_get", "ii", environGet},
	{preview1, "clock_time_get", "ili", clockTime}, {preview1, "random_get", "ii", randomGet},
	{preview1, "sched_yield", "", schedYield}, {preview1, "proc_exit", "i", procExit},
	{preview1, "poll_oneoff", "iiii", pollOneoff},
	{preview1, "fd_read", "iiii", fdRead}, {preview1, "fd_write", "iiii", fdWrite},
	{preview1, "fd_pread", "iiili", fdPread}, {preview1, "fd_pwrite", "iiili", fdPwrite},
	{preview1, "fd_close", "i", fdClose}, {preview1, "fd_sync", "i", fdSync},
	{preview1, "fd_seek", "ilii", fdSeek}, {preview1, "fd_readdir", "iiili", fdReaddir},
	{preview1, "fd_filestat_get", "ii", fdFilestat}, {preview1, "fd_filestat_set_size", "il", fdSetSize},
	{preview1, "fd_fdstat_get", "ii", fdFdstat}, {preview1, "fd_fdstat_set_flags", "ii", accept0},
	{preview1, "fd_fdstat_set_rights", "ill", accept0},
	{preview1, "fd_prestat_get", "ii", fdPrestat}, {preview1, "fd_prestat_dir_name", "iii", fdPrestatName},
	{preview1, "path_open", "iiiiillii", pathOpen}, {preview1, "path_create_directory", "iii", pathMkdir},
	{preview1, "path_unlink_file", "iii", pathUnlink}, {preview1, "path_remove_directory", "iii", pathRmdir},
	{preview1, "path_rename", "iiiiii", pathRename}, {preview1, "path_filestat_get", "iiiii", pathFilestat},
	{preview1, "path_filestat_set_times", "iiiilli", pathSetTimes},
	{preview1, "path_link", "iiiiiii", refuse}, {preview1, "path_symlink", "iiiii", refuse},
	{preview1, "path_readlink", "iiiiii", readlink},
	{preview1, "sock_accept", "iii", sockAccept}, {preview1, "sock_shutdown", "ii", sockShutdown},
	{simulate, "listen", "iii", sockListen}, {simulate, "dial", "iii", sockDial},
	{simulate, "sock_error", "i", sockError}, {simulate, "sock_addr", "iii", sockAddr},
	{simulate, "lookup", "iii", lookup}, {simulate, "hostname", "ii", hostname},
	{simulate, "deferred", "", deferred}, {simulate, "resume", "i", resume},
}

func exported(module, name string) *export {
	for i := range exports {
		if exports[i].module == module && exports[i].name == name {
			return &exports[i]
		}
	}
	return nil
}

// types are the operands and results of an export.
func (x *export) types() (params, results []api.ValueType) {
	for _, c := range x.params {
		if c == 'l' {
			params = append(params, api.ValueTypeI64)
		} else {
			params = append(params, api.ValueTypeI32)
		}
	}
	if x.name != "proc_exit" {
		results = []api.ValueType{api.ValueTypeI32}
	}
	return params, results
}

func exportHost(ctx context.Context, rt wazero.Runtime) error {
	for _, module := range []string{preview1, simulate} {
		b := rt.NewHostModuleBuilder(module)
		for i := range exports {
			x := &exports[i]
			if x.module != module {
				continue
			}
			params, results := x.types()
			b.NewFunctionBuilder().WithGoModuleFunction(adapt(x), params, results).Export(x.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("wasi: host module %s: %w", module, err)
		}
	}
	return nil
}

// adapt makes a host function of an export. The upper half of a 32-bit operand's slot is not defined, so it is cut off.
func adapt(x *export) api.GoModuleFunc {
	params, fn := x.params, x.fn
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		for i := range params {
			if params[i] == 'i' {
				stack[i] &= 1<<32 - 1
			}
		}
		r := fn(ctx.Value(guestKey{}).(*guest), memory{mod.Memory()}, stack)
		if len(stack) > 0 {
			stack[0] = r
		}
	}
}

// accept0 agrees to what has no meaning here (flags and rights).
func accept0(*guest, memory, []uint64) uint64 { return 0 }

// refuse answers for links, which the simulated disk does not have.
func refuse(*guest, memory, []uint64) uint64 { return notSupported }

// readlink says that nothing is a symbolic link.
func readlink(*guest, memory, []uint64) uint64 { return errno(kernel.EINVAL) }

func argsSizes(g *guest, m memory, a []uint64) uint64    { return sizes(g.args, m, a) }
func argsGet(g *guest, m memory, a []uint64) uint64      { return fill(g.args, m, a) }
func environSizes(g *guest, m memory, a []uint64) uint64 { return sizes(g.env, m, a) }
func environGet(g *guest, m memory, a []uint64) uint64   { return fill(g.env, m, a) }

func sizes(list []string, m memory, a []uint64) uint64 {
	n := 0
	for _, s := range list {
		n += len(s) + 1
	}
	m.put32(a[0], uint32(len(list)))
	m.put32(a[1], uint32(n))
	return 0
}

func fill(list []string, m memory, a []uint64) uint64 {
	at := a[1]
	for i, s := range list {
		m.put32(a[0]+uint64(4*i), uint32(at))
		b := m.bytes(at, uint64(len(s)+1))
		copy(b, s)
		b[len(s)] = 0
		at += uint64(len(s) + 1)
	}
	return 0
}

const clockRealtime = 0

func clockTime(g *guest, m memory, a []uint64) uint64 {
	m.put64(a[2], uint64(g.p.Clock(uint32(a[0]) == clockRealtime)))
	return 0
}

func randomGet(g *guest, m memory, a []uint64) uint64 {
	g.p.Entropy(m.bytes(a[0], a[1]))
	return 0
}

func schedYield(g *guest, _ memory, _ []uint64) uint64 {
	g.p.Yield()
	return 0
}

func procExit(g *guest, _ memory, a []uint64) uint64 {
	g.p.ExitProcess(int(uint32(a[0])))
	return 0
}

// Layout of poll_oneoff's structures.
const (
	subSize, eventSize   = 48, 32
	subClock, subRead    = 0, 1
	eventErrno, eventTag = 8, 10
	clockAbsolute        = 1
)

func pollOneoff(g *guest, m memory, a []uint64) uint64 {
	n := int(uint32(a[2]))
	in := m.bytes(a[0], uint64(n*subSize))
	deadline := int64(-1)
	g.subs = g.subs[:0]
	for i := range n {
		s := in[i*subSize:]
		if s[8] == subClock {
			t := int64(le.Uint64(s[24:]))
			if le.Uint16(s[40:])&clockAbsolute == 0 {
				t = saturate(t, g.p.Monotonic())
			}
			if deadline < 0 || t < deadline {
				deadline = t
			}
			continue
		}
		mode := kernel.Writable
		if s[8] == subRead {
			mode = kernel.Readable
		}
		g.subs = append(g.subs, g.p.PollOn(int32(le.Uint32(s[16:])), mode))
	}
	g.p.PollWait(g.subs, deadline)
	return writeEvents(g, m, a, n, deadline)
}

func saturate(a, b int64) int64 {
	if a < 0 || a > 1<<62-b {
		return 1 << 62
	}
	return a + b
}

func writeEvents(g *guest, m memory, a []uint64, n int, deadline int64) uint64 {
	in, out := m.bytes(a[0], uint64(n*subSize)), m.bytes(a[1], uint64(n*eventSize))
	count, next := 0, 0
	for i := range n {
		s := in[i*subSize:]
		ready, e := false, kernel.OK
		if s[8] == subClock {
			ready = g.p.Monotonic() >= deadline
		} else {
			ready, e = g.subs[next].Ready()
			next++
		}
		if !ready {
			continue
		}
		ev := out[count*eventSize : (count+1)*eventSize]
		clear(ev)
		copy(ev[:8], s[:8])
		le.PutUint16(ev[eventErrno:], uint16(errno(e)))
		ev[eventTag] = s[8]
		count++
	}
	m.put32(a[3], uint32(count))
	return 0
}
