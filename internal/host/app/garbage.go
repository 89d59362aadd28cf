package app

import (
	"math"
	"os"
	"runtime/debug"
)

const (
	// ballastSize is memory that is never touched, so it takes none. The collector, which runs when the heap has
	// doubled, counts it: without it a node with 5 MiB of live objects collects after every 5 MiB, a quarter of its
	// time under load.
	ballastSize = 48 << 20
	// ballastShare is the part of a memory limit that the garbage may take in addition.
	ballastShare = 8
)

// ballast returns memory to hold while the server runs; nil if the collector is configured, or the memory limit
// (GOMEMLIMIT) is too low.
func ballast() []byte {
	if _, set := os.LookupEnv("GOGC"); set {
		return nil
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 && limit/ballastShare < ballastSize {
		return nil
	}
	return make([]byte, ballastSize)
}
