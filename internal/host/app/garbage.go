package app

import (
	"math"
	"os"
	"runtime/debug"
)

const (
	// ballastSize is memory that is never touched, and so never in use. It counts for the collector, which runs whenever
	// the heap has doubled: without it a node with 5 MiB of live objects collects after every 5 MiB, and spends a quarter
	// of its time on that under load.
	ballastSize = 48 << 20
	// ballastShare is the part of a limit on memory that the garbage may take in addition.
	ballastShare = 8
)

// ballast returns memory to hold while the server runs; nil where somebody has set the collector, or where the limit
// on memory (GOMEMLIMIT) is too low for more garbage.
func ballast() []byte {
	if _, set := os.LookupEnv("GOGC"); set {
		return nil
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 && limit/ballastShare < ballastSize {
		return nil
	}
	return make([]byte, ballastSize)
}
