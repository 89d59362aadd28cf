package app

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestBallast: the collector runs less often, unless somebody has set it, or memory is scarce.
func TestBallast(t *testing.T) {
	t.Setenv("GOGC", "") // which puts back what is there
	if err := os.Unsetenv("GOGC"); err != nil {
		t.Fatal(err)
	}
	if n := len(ballast()); n != ballastSize {
		t.Errorf("%d bytes", n)
	}
	before := debug.SetMemoryLimit(300 << 20)
	n := len(ballast())
	debug.SetMemoryLimit(before)
	if n != 0 {
		t.Errorf("%d bytes with a limit of 300 MiB", n)
	}
	t.Setenv("GOGC", "200")
	if n := len(ballast()); n != 0 {
		t.Errorf("%d bytes with GOGC=200", n)
	}
}
