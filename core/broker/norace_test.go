//go:build !race

package broker

const racing = false
