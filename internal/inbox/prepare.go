package inbox

import (
	"cmp"
	"crypto/rand"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
)

// prepared is an arrival with what follows from it alone. It is made outside of the transaction that stores it, whose
// time everybody waits for, and is not changed: the transaction may run again.
type prepared struct {
	*Arrival
	no        int // its place among the arrivals
	batch     string
	identity  string
	canonical string // hash of the content
	eventType string
	failure   failure.Report
	stack     string        // of failure, cut
	print     failure.Print // without rules
}

// prepare decodes the arrivals of a source as far as that needs no database.
func (in *Inbox) prepare(of *deadletter.Source, arrivals []Arrival) []prepared {
	all := make([]prepared, len(arrivals))
	batch := rand.Text()
	for i := range arrivals {
		a := &arrivals[i]
		p := prepared{Arrival: a, no: i, batch: batch, identity: in.identify(of, a), failure: bound(a.Failure),
			stack: failure.Cut(a.Stack, maxStack),
			print: failure.PrintOf(a.Failure, a.Stack, cmp.Or(a.Handler, of.Name))}
		p.canonical, p.eventType = deadletter.Canonical(a.Content), deadletter.EventType(a.Content)
		all[i] = p
	}
	return all
}
