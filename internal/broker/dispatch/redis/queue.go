package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// batches packs items into arguments of scripts, batch items in each. size is the estimated size of an item in bytes.
func batches[T any](items []T, size int, pack func([]byte, *T) []byte) []string {
	var list []string
	for part := range slices.Chunk(items, batch) {
		b := make([]byte, 0, len(part)*size)
		for i := range part {
			b = pack(b, &part[i])
		}
		list = append(list, rueidis.BinaryString(b))
	}
	return list
}

// Offer implements engine.Dispatcher: it makes steps claimable, and notifies other processes. A repetition has no
// effect.
func (d *Dispatcher) Offer(ctx context.Context, steps []engine.Offered) error {
	packed := batches(steps, idSize+offeredSize, func(b []byte, o *engine.Offered) []byte {
		return putOffered(append(b, o.Step[:]...), o)
	})
	runs := make([][]string, len(packed))
	for i, p := range packed {
		runs[i] = []string{p, d.node, d.channel}
	}
	_, err := d.calls(ctx, "offer steps", d.scripts.offer, runs)
	return err
}

// Remove implements engine.Dispatcher: it removes steps whose lease has ended or that must not run.
func (d *Dispatcher) Remove(ctx context.Context, steps []engine.Removal) error {
	packed := batches(steps, placeSize+1, func(b []byte, r *engine.Removal) []byte {
		b = putPlace(b, &r.Offered)
		if r.Left {
			return append(b, 1)
		}
		return append(b, 0)
	})
	_, err := d.calls(ctx, "remove steps", d.scripts.remove, each(packed))
	return err
}

func each(packed []string, before ...string) [][]string {
	runs := make([][]string, len(packed))
	for i, p := range packed {
		runs[i] = append(slices.Clone(before), p)
	}
	return runs
}

// Missing implements engine.Dispatcher: it returns the steps that are neither waiting at their key nor held, and
// changes nothing.
func (d *Dispatcher) Missing(ctx context.Context, steps []engine.Offered) ([]engine.Offered, error) {
	packed := batches(steps, placeSize, putPlace)
	answers, err := d.calls(ctx, "look for steps", d.scripts.missing, each(packed))
	if err != nil {
		return nil, err
	}
	var flags strings.Builder
	for _, a := range answers {
		s, err := a.ToString()
		if err != nil {
			return nil, err
		}
		flags.WriteString(s)
	}
	if flags.Len() != len(steps) {
		return nil, errAnswer
	}
	var missing []engine.Offered
	for i, c := range []byte(flags.String()) {
		if c == '1' {
			missing = append(missing, steps[i])
		}
	}
	return missing, nil
}

// Depth implements engine.Dispatcher: it counts the waiting steps of a route before a place, in logarithmic time.
func (d *Dispatcher) Depth(ctx context.Context, route, key int64, id task.ID) (int, error) {
	answer, err := d.call(ctx, "count steps", d.scripts.depth, string(put64(nil, route)),
		string(append(putKey(nil, key), id[:]...)))
	if err != nil {
		return 0, err
	}
	n, err := answer.AsInt64()
	return int(n), err
}

// Waiting counts the waiting steps of routes, without routes that have none.
func (d *Dispatcher) Waiting(ctx context.Context, routes []int64) (map[int64]int, error) {
	packed := batches(routes, 8, func(b []byte, r *int64) []byte { return put64(b, *r) })
	answers, err := d.calls(ctx, "count steps", d.scripts.waiting, each(packed))
	if err != nil {
		return nil, err
	}
	counts := map[int64]int{}
	for _, a := range answers {
		list, err := a.AsIntSlice()
		if err != nil || len(list) > len(routes) {
			return nil, errAnswer
		}
		for i, n := range list {
			if n > 0 {
				counts[routes[i]] = int(n)
			}
		}
		routes = routes[len(list):]
	}
	return counts, nil
}

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
