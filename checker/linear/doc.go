// Package linear checks that what clients saw of one partition is linearizable.
package linear
