package app

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestBallast(t *testing.T) {
	t.Setenv("GOGC", "") // restores the previous value
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
