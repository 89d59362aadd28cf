package session

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of wrong keys, and of sign-ins, within a minute, which begins with the first attempt after the minute before:
// at a boundary, 60 seconds may have twice as many. Sign-ins are bounded because each stores a session.
const (
	perClient        = 10
	inAll            = 100
	signInsPerClient = 60
	signInsInAll     = 1000
	window           = time.Minute
)

// attempts counts wrong and right keys of the current minute, by client. It is safe for concurrent use, and bounded: no
// more than the bounds are counted.
type attempts struct {
	mu           sync.Mutex
	since        time.Time
	wrong, right tally
}

// tally counts by client.
type tally struct {
	all      int
	byClient map[string]int
}

// add counts one.
func (t *tally) add(from string) {
	t.all++
	t.byClient[from]++
}

// reached reports whether there are as many as there may be of a client, or in all.
func (t *tally) reached(from string, perClient, inAll int) bool {
	return t.all >= inAll || t.byClient[from] >= perClient
}

// try runs known, which looks a key up in memory and reports whether it exists, unless the client has to wait first.
// Attempts run one at a time, so that many at once are not more than the bounds.
func (a *attempts) try(address string, now time.Time, known func() bool) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(now)
	from := client(address)
	if a.wrong.reached(from, perClient, inAll) || a.right.reached(from, signInsPerClient, signInsInAll) {
		return max(a.since.Add(window).Sub(now), time.Second)
	}
	if known() {
		a.right.add(from)
	} else {
		a.wrong.add(from)
	}
	return 0
}

// begin begins a new minute when the old one is over, or the clock was set back. The caller holds the lock.
func (a *attempts) begin(now time.Time) {
	if age := now.Sub(a.since); a.wrong.byClient == nil || age >= window || age < 0 {
		a.since, a.wrong, a.right = now, tally{byClient: map[string]int{}}, tally{byClient: map[string]int{}}
	}
}

// client returns what tells clients apart: the IP address, and of IPv6 the network of 64 bits, of which one client has
// all addresses.
func client(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
