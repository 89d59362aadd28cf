package testserver

import (
	"errors"
	"os"
	"testing"
)

// ErrMissing is the error when programs are not installed.
var ErrMissing = errors.New("not installed")

// OrSkip ends the test after an error. ErrMissing skips it, because a machine need not have every server; in CI it
// fails.
func OrSkip(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	default:
		t.Fatal(err)
	}
}
