package session

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of wrong keys within a minute.
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

// wait returns how long a client has to wait before it may try a key, 0 for not at all.
func (a *attempts) wait(address string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(now)
	if a.all < inAll && a.byClient[client(address)] < perClient {
		return 0
	}
	return max(a.since.Add(window).Sub(now), time.Second)
}

// failed counts a wrong key.
func (a *attempts) failed(address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(now)
	a.all++
	a.byClient[client(address)]++
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
