// Package code searches the code of a native guest for instructions that read the real machine without asking anybody.
package code

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// The instructions that read the machine without asking anybody. Trapping RDTSC costs the processor a serialising
// write for each switch between a guest that traps and a kernel that does not (in a virtual machine an exit to the
// hypervisor, several times what the switch itself costs). The Go compiler never emits it. So the code is searched once,
// and a guest that cannot read the time-stamp counter runs without the trap. Code cannot change later: the filter
// refuses executable mappings.
var machineReads = []struct {
	name string
	code []byte
	op   x86asm.Op
}{
	{"RDTSC", []byte{0x0f, 0x31}, x86asm.RDTSC},
	{"RDTSCP", []byte{0x0f, 0x01, 0xf9}, x86asm.RDTSCP},
	{"CPUID", []byte{0x0f, 0xa2}, x86asm.CPUID},
	{"RDRAND", []byte{0x0f, 0xc7}, x86asm.RDRAND}, // or RDSEED or RDPID, which x86asm does not know
}

// own is the function of the runtime that contains a CPUID; the overlay jumps over it.
const own = "runtime.rt0_go"

// entry is the function by which the runtime of a guest, and no other, takes over its page.
const entry = "runtime.simInit"

// Search looks at a program. sees lists what it found, as "CPUID in FUNCTION"; trap tells that some of it may read the
// time-stamp counter. What is no guest is an error that begins with a verb.
func Search(f *elf.File) (sees []string, trap bool, err error) {
	defer func() { // debug/gosym believes what it reads
		if r := recover(); r != nil {
			err = fmt.Errorf("is damaged: %v", r)
		}
	}()
	text, pcln := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || pcln == nil {
		return nil, false, errors.New("has no .text or .gopclntab section: it is no Go program")
	}
	code, err := text.Data()
	if err != nil {
		return nil, false, fmt.Errorf("is damaged: %w", err)
	}
	table, err := pcln.Data()
	if err != nil {
		return nil, false, fmt.Errorf("is damaged: %w", err)
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(table, text.Addr))
	if err != nil {
		return nil, false, fmt.Errorf("is damaged: %w", err)
	}
	if symbols.LookupFunc(entry) == nil {
		return nil, false, errors.New("was not built for the simulator (guestbuild -engine native, trialog sim)")
	}
	for _, m := range machineReads {
		for at := 0; ; at++ {
			i := bytes.Index(code[at:], m.code)
			if i < 0 {
				break
			}
			at += i
			where := "unnamed code"
			fn := symbols.PCToFunc(text.Addr + uint64(at))
			if fn != nil {
				where = strings.TrimSuffix(fn.Name, ".abi0")
			}
			if where == own || fn != nil && !executes(code, int(fn.Entry-text.Addr), at, m.op) {
				continue
			}
			trap = trap || m.op == x86asm.RDTSC || m.op == x86asm.RDTSCP
			if s := m.name + " in " + where; !slices.Contains(sees, s) {
				sees = append(sees, s)
			}
		}
	}
	return sees, trap, nil
}

// executes decodes a function from its start and tells whether the instruction with the byte at a position is op, or may
// be: what the decoder does not know (vector extensions) counts as yes.
func executes(code []byte, from, at int, op x86asm.Op) bool {
	for {
		inst, err := x86asm.Decode(code[from:min(len(code), from+15)], 64)
		if err != nil || inst.Len == 0 {
			return true
		}
		if from += inst.Len; from > at {
			return inst.Op == op
		}
	}
}
