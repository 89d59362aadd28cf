package redis

import (
	"context"
	"math"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const claimSize = 35

// Claim implements engine.Dispatcher: it leases the steps with the lowest keys to the claims, in order, with one list
// for each claim. After an error steps may be leased that no answer names: their leases run out.
func (d *Dispatcher) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	at := string(put64(nil, int64(now)))
	var runs [][]string
	for rest := claims; len(rest) > 0; {
		n := together(rest)
		runs = append(runs, claimRun(rest[:n], at))
		rest = rest[n:]
	}
	answers, err := d.calls(ctx, "claim steps", d.scripts.claim, runs)
	if err != nil {
		return nil, err
	}
	out := make([][]engine.Hold, 0, len(claims))
	for _, a := range answers {
		lists, err := a.ToArray()
		if err != nil {
			return nil, err
		}
		for i := range lists {
			holds, err := granted(&lists[i])
			if err != nil {
				return nil, err
			}
			out = append(out, holds)
		}
	}
	if len(out) != len(claims) {
		return nil, errAnswer
	}
	return out, nil
}

// together returns the number of claims of one run: as many as want no more steps than a batch, and at least one.
func together(claims []engine.Claim) int {
	wanted := 0
	for i, c := range claims[:min(len(claims), batch)] {
		if wanted += max(c.Capacity, 0); wanted > batch && i > 0 {
			return i
		}
	}
	return min(len(claims), batch)
}

// routeSets numbers the sets of routes in claims, as many workers serve the same ones: a claim takes 2 bytes for
// hundreds of routes.
type routeSets struct {
	same map[sliceOf]int
	sets map[string]int

	order []int64          // in order of appearance
	in    map[int64][]byte // the sets of each, 2 bytes per set
}

type sliceOf struct {
	first *int64
	n     int
}

func (s *routeSets) number(routes []int64) int {
	if len(routes) == 0 {
		routes = nil
	}
	var one sliceOf
	if len(routes) > 0 {
		one = sliceOf{&routes[0], len(routes)}
	}
	if n, ok := s.same[one]; ok {
		return n
	}
	b := make([]byte, 0, 8*len(routes))
	for _, r := range routes {
		b = put64(b, r)
	}
	n, ok := s.sets[string(b)]
	if !ok {
		n = len(s.sets)
		s.sets[string(b)] = n
		s.enter(routes, uint16(n))
	}
	s.same[one] = n
	return n
}

func (s *routeSets) enter(routes []int64, set uint16) {
	for _, r := range routes {
		sets, known := s.in[r]
		if !known {
			s.order = append(s.order, r)
		}
		if n := len(sets); n >= 2 && big.Uint16(sets[n-2:]) == set {
			continue // named twice
		}
		s.in[r] = big.AppendUint16(sets, set)
	}
}

func claimRun(claims []engine.Claim, now string) []string {
	s := routeSets{same: map[sliceOf]int{}, sets: map[string]int{}, in: map[int64][]byte{}}
	b := make([]byte, 0, len(claims)*claimSize)
	for i := range claims {
		c := &claims[i]
		b = big.AppendUint16(b, uint16(s.number(c.Routes)))
		b = put64(b, c.Worker)
		b = big.AppendUint32(b, uint32(max(c.Capacity, 0)))
		if c.Start {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		b = put64(b, int64(c.Until))
		b = big.AppendUint32(b, uint32(max(c.Window, 0)))
		b = put64(b, c.Token)
	}
	routes := make([]byte, 0, 8*len(s.order))
	args := make([]string, 3, 3+len(s.order))
	for _, r := range s.order {
		routes = put64(routes, r)
		args = append(args, rueidis.BinaryString(s.in[r]))
	}
	if most := claims[0].Most; most != nil {
		bounds := make([]byte, 0, 4*len(s.order))
		for _, r := range s.order {
			n, bounded := most[r]
			if !bounded || n > batch {
				n = math.MaxInt32
			}
			bounds = big.AppendUint32(bounds, uint32(max(n, 0))) // #nosec G115 -- checked above
		}
		args = append(args, rueidis.BinaryString(bounds))
	}
	args[0], args[1], args[2] = now, rueidis.BinaryString(routes), rueidis.BinaryString(b)
	return args
}

// granted decodes the holds of one claim. Without notes they have the same size.
func granted(m *rueidis.RedisMessage) ([]engine.Hold, error) {
	b, err := m.AsBytes()
	if err != nil {
		return nil, err
	}
	const size = idSize + heldSize
	if len(b)%size != 0 {
		return nil, errAnswer
	}
	if len(b) == 0 {
		return nil, nil
	}
	holds := make([]engine.Hold, len(b)/size)
	for i := range holds {
		if holds[i], err = hold(b[i*size : (i+1)*size]); err != nil {
			return nil, err
		}
	}
	return holds, nil
}
