package session

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of wrong keys within a minute, which begins with the first attempt after the minute before: at a boundary, 60
// seconds may have twice as many.
const (
	perClient = 10
	inAll     = 100
	window    = time.Minute
)

// attempts counts wrong keys of the current minute, by client. It is safe for concurrent use, and bounded: no more than
// inAll are counted.
type attempts struct {
	mu       sync.Mutex
	since    time.Time
	all      int
	byClient map[string]int
}

// try runs known, which looks a key up in memory and reports whether it exists, unless the client has to wait first.
// Attempts run one at a time, so that many at once are not more than the bounds.
func (a *attempts) try(address string, now time.Time, known func() bool) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(now)
	from := client(address)
	if a.all >= inAll || a.byClient[from] >= perClient {
		return max(a.since.Add(window).Sub(now), time.Second)
	}
	if !known() {
		a.all++
		a.byClient[from]++
	}
	return 0
}

// begin begins a new minute when the old one is over, or the clock was set back. The caller holds the lock.
func (a *attempts) begin(now time.Time) {
	if age := now.Sub(a.since); a.byClient == nil || age >= window || age < 0 {
		a.since, a.all, a.byClient = now, 0, map[string]int{}
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
