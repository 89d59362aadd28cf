package incident

import "sync"

// registry is where the application stores strikes. Storing one again counts and is no error, since a consumer must
// expect a message twice. It is safe for concurrent use.
type registry struct {
	mu       sync.Mutex
	readOnly bool
	strikes  map[string]strike // by message
	stored   map[string]int    // how often each message was stored
}

// newRegistry returns an empty registry.
func newRegistry() *registry {
	return &registry{strikes: map[string]strike{}, stored: map[string]int{}}
}

// maintain makes the registry read-only, or ends that.
func (g *registry) maintain(readOnly bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.readOnly = readOnly
}

// store stores the strike of a message.
func (g *registry) store(message string, s strike) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readOnly {
		return rejected("ReadOnly", "the registry is read-only: maintenance has not ended")
	}
	g.strikes[message] = s
	g.stored[message]++
	return nil
}

// len returns the number of messages whose strikes are stored.
func (g *registry) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.strikes)
}

// times returns how often a message was stored.
func (g *registry) times(message string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stored[message]
}
