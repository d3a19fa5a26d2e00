//go:build race

package inspect_test

// raceDetector makes everything slower, and sees nothing in code that runs alone.
const raceDetector = true
