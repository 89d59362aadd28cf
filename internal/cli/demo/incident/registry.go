package incident

import "sync"

// registry stores the application's strikes. Storing one again counts and is no error, since messages may repeat.
// It is safe for concurrent use.
type registry struct {
	mu       sync.Mutex
	readOnly bool
	strikes  map[string]strike // by message
	stored   map[string]int    // stores of each message
}

func newRegistry() *registry {
	return &registry{strikes: map[string]strike{}, stored: map[string]int{}}
}

func (g *registry) maintain(readOnly bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.readOnly = readOnly
}

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

func (g *registry) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.strikes)
}

func (g *registry) times(message string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stored[message]
}
