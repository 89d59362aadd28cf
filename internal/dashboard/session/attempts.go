package session

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of wrong keys, and of sign-ins, within a minute that begins with the first attempt after the one before: at a
// boundary, 60 seconds may have twice as many. Sign-ins are bounded because each stores a session.
const (
	perClient        = 10
	inAll            = 100
	signInsPerClient = 60
	signInsInAll     = 1000
	window           = time.Minute
)

// attempts counts wrong and right keys of the current minute, by client, up to the bounds. It is safe for concurrent
// use.
type attempts struct {
	mu           sync.Mutex
	since        time.Time
	wrong, right tally
}

type tally struct {
	all      int
	byClient map[string]int
}

func (t *tally) add(from string) {
	t.all++
	t.byClient[from]++
}

func (t *tally) reached(from string, perClient, inAll int) bool {
	return t.all >= inAll || t.byClient[from] >= perClient
}

// try runs known, which looks a key up in memory and reports whether it exists, unless the client has to wait first.
// Attempts are serial, so that concurrent ones cannot exceed the bounds.
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

// client returns the IP address or, for IPv6, the network of 64 bits: one client has all its addresses.
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
