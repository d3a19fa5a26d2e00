#include "textflag.h"

// func rdrand() uint64
TEXT ·rdrand(SB),NOSPLIT,$0-8
	RDRANDQ	AX
	MOVQ	AX, ret+0(FP)
	RET

// func rdseed() uint64
TEXT ·rdseed(SB),NOSPLIT,$0-8
	RDSEEDQ	AX
	MOVQ	AX, ret+0(FP)
	RET

// func rdtscWide() uint64
TEXT ·rdtscWide(SB),NOSPLIT,$0-8
	BYTE	$0x48 // a prefix that means nothing here
	RDTSC
	MOVQ	AX, ret+0(FP)
	RET

// func constants() uint64
TEXT ·constants(SB),NOSPLIT,$0-8
	MOVQ	$0xa20f310ff9010f00, AX
	CMPXCHG8B	ret+0(FP)
	MOVQ	AX, ret+0(FP)
	RET
