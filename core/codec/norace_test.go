//go:build !race

package codec

const underRace = false
