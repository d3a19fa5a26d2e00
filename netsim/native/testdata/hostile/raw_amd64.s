#include "textflag.h"

// func raw(nr, a1, a2, a3, a4, a5, a6 uintptr) (r1 uintptr)
TEXT ·raw(SB),NOSPLIT,$0-64
	MOVQ	nr+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	MOVQ	a4+32(FP), R10
	MOVQ	a5+40(FP), R8
	MOVQ	a6+48(FP), R9
	SYSCALL
	MOVQ	AX, r1+56(FP)
	RET

// func int80(nr, a1 uintptr) (r1 uintptr)
TEXT ·int80(SB),NOSPLIT,$0-24
	MOVQ	nr+0(FP), AX
	MOVQ	a1+8(FP), BX
	INT	$0x80
	MOVQ	AX, r1+16(FP)
	RET

// func rdtsc() uint64
TEXT ·rdtsc(SB),NOSPLIT,$0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// func rdtscp() (tsc uint64, aux uint64)
TEXT ·rdtscp(SB),NOSPLIT,$0-16
	RDTSCP
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, tsc+0(FP)
	MOVL	CX, CX
	MOVQ	CX, aux+8(FP)
	RET

// func callC(fn, a1, a2 uintptr) (r1 uintptr)
TEXT ·callC(SB),$4096-32
	MOVQ	fn+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	SP, BX	// kept by the callee
	ADDQ	$2048, SP
	ANDQ	$~15, SP
	CALL	AX
	MOVQ	BX, SP
	MOVQ	AX, r1+24(FP)
	RET
