//go:build race

package codec

// underRace: pools forget at random under the race detector, so decoders are made anew.
const underRace = true
