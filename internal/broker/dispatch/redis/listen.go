package redis

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// Listen implements engine.Dispatcher: it calls hear with routes and numbers of steps that other processes offered,
// until the connection or ctx ends. Messages are not repeated: after a lost connection the caller must look for steps.
func (d *Dispatcher) Listen(ctx context.Context, hear func(routes map[int64]int)) error {
	client, err := d.connected()
	if err != nil {
		return fmt.Errorf("listen to Redis: %w", err)
	}
	err = client.Receive(ctx, client.B().Subscribe().Channel(d.channel).Build(), func(m rueidis.PubSubMessage) {
		if routes := d.news([]byte(m.Message)); len(routes) > 0 {
			hear(routes)
		}
	})
	if err == nil {
		err = errClosed
	}
	return fmt.Errorf("listen to Redis: %w", err)
}

// news decodes a message of another process: its sender, and for each route (8 bytes) the number of steps (4 bytes). It
// returns nil for this process's own and unreadable messages.
func (d *Dispatcher) news(b []byte) map[int64]int {
	if len(b) < nodeSize || string(b[:nodeSize]) == d.node {
		return nil
	}
	routes := map[int64]int{}
	for b = b[nodeSize:]; len(b) >= 12; b = b[12:] {
		routes[int64(big.Uint64(b))] += int(big.Uint32(b[8:]))
	}
	return routes
}
