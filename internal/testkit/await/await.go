// Package await lets a test wait for what goroutines, processes and servers bring about; tests only.
package await

import (
	"testing"
	"time"
)

// Patience is how long a test waits while nothing changes. Only a test that fails uses it up.
const Patience = 2 * time.Minute

// Until waits until something is so.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for w := begin(); !done(); w.pause() {
		if w.over() {
			t.Fatalf("%s: it has not come about within %v", what, Patience)
		}
	}
}

// Text waits until a text is as wanted, and gives up when it has not changed for a while: a machine with other work is
// slow, but it moves.
func Text(t testing.TB, what, want string, got func() string) {
	t.Helper()
	is := got()
	for w := begin(); is != want; w.pause() {
		if w.over() {
			t.Fatalf("%s: for %v it has not become\n%s\nit is\n%s", what, Patience, want, is)
		}
		if now := got(); now != is {
			is, w.changed = now, time.Now()
		}
	}
}

// wait is the time between two looks, which take no more of the machine than what they wait for.
type wait struct{ changed, looked time.Time }

func begin() *wait {
	now := time.Now()
	return &wait{changed: now, looked: now}
}

func (w *wait) over() bool { return time.Since(w.changed) > Patience }

func (w *wait) pause() {
	time.Sleep(max(5*time.Millisecond, 2*time.Since(w.looked)))
	w.looked = time.Now()
}
