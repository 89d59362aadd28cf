package scenario_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/store/sealed"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run the model test with this seed only")
	opsFlag  = flag.Int("ops", 0, "run the model test with this many verbs")
)

// TestModel runs the same random verbs on an engine on the store in memory and on one on another store. Answers,
// states and invariants must agree. A failing run is shrunk to the verbs that it takes.
func TestModel(t *testing.T) {
	t.Parallel()
	ops := 150
	if !testing.Short() {
		ops = 400
	}
	if *opsFlag != 0 {
		ops = *opsFlag
	}
	for _, other := range stores[1:] {
		seeds, ops := []uint64{1, 2, 3}, ops
		switch {
		case *seedFlag != 0:
			seeds = []uint64{*seedFlag}
		case strings.HasPrefix(other.name, "postgres"): // twice as slow as SQLite
			seeds = seeds[2:]
		case strings.HasPrefix(other.name, "memstore"): // a tenth of the time
			seeds = append(seeds, rand.Uint64(), rand.Uint64())
		}
		if *opsFlag == 0 && !strings.HasPrefix(other.name, "memstore") { // each verb reads all that is there, from a file
			ops = min(ops, 250)
		}
		for _, seed := range seeds {
			t.Run(fmt.Sprint(other.name, "/", seed), func(t *testing.T) {
				t.Parallel()
				script := generate(seed, ops)
				if err := play(t, other, script); err != nil {
					small, err := shrink(t, other, script, err)
					t.Errorf("%v\nreplay: go test -run TestModel/%s -seed %d -ops %d\nshrunk from %d verbs to these %d:\n%s",
						err, other.name, seed, ops, len(script), len(small), transcript(small))
				}
			})
		}
	}
}

// op is one random verb. Its numbers select among what exists when it runs, so that any subset of a script is a
// script.
type op struct {
	kind string
	n    [6]uint32
}

var weights = []struct {
	kind   string
	weight int
}{
	{"submit", 14}, {"worker", 3}, {"claim", 22}, {"start", 8}, {"settle", 22}, {"heartbeat", 6}, {"progress", 3},
	{"drain", 2},
	{"cancel", 2}, {"act", 6}, {"replay", 4}, {"case", 8}, {"advance", 14}, {"upkeep", 12}, {"restart", 2},
	{"pause", 5}, {"limit", 6}, {"outage", 6}, {"signal", 10}, {"crash", 2},
	{"work", 6}, {"flood", 2}, {"undo", 2}, {"schedule", 3}, {"hide", 2}, {"key", 4},
	{"lose", 2}, {"orphan", 2},
}

func generate(seed uint64, n int) []op {
	r := rand.New(rand.NewPCG(seed, 7))
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	script := make([]op, n)
	for i := range script {
		pick := r.IntN(total)
		for _, w := range weights {
			if pick -= w.weight; pick < 0 {
				script[i].kind = w.kind
				break
			}
		}
		for j := range script[i].n {
			script[i].n[j] = r.Uint32()
		}
	}
	return script
}

func transcript(script []op) string {
	var b strings.Builder
	for _, o := range script {
		fmt.Fprintf(&b, "  {%q, [6]uint32{%d, %d, %d, %d, %d, %d}},\n", o.kind, o.n[0], o.n[1], o.n[2], o.n[3], o.n[4],
			o.n[5])
	}
	return b.String()
}

func play(t *testing.T, other kind, script []op) error {
	m, err := newModel(t, other)
	if err != nil {
		return err
	}
	defer func() { closeStore(t, m.worlds[1].store) }() // one test may have many plays
	for i, o := range script {
		if err := m.do(o); err != nil {
			return fmt.Errorf("verb %d, %s: %w", i, o.kind, err)
		}
		// the full comparison is slow, and a difference stays
		if i%25 == 24 || i == len(script)-1 {
			if err := m.compare(); err != nil {
				return fmt.Errorf("after verb %d, %s: %w", i, o.kind, err)
			}
		}
	}
	if err := m.finish(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return m.compare()
}

// shrink removes verbs in ever smaller pieces while the script fails, and returns the last failure.
func shrink(t *testing.T, other kind, script []op, failure error) ([]op, error) {
	t.Helper()
	budget := 150
	deadline := time.Now().Add(20 * time.Second)
	for piece := len(script) / 2; piece > 0 && budget > 0 && time.Now().Before(deadline); {
		removed := false
		for at := 0; at+piece <= len(script) && budget > 0 && time.Now().Before(deadline); {
			budget--
			shorter := append(append([]op{}, script[:at]...), script[at+piece:]...)
			if err := play(t, other, shorter); err != nil {
				script, failure, removed = shorter, err, true
			} else {
				at += piece
			}
		}
		if !removed || piece > len(script)/2 {
			piece /= 2
		}
	}
	return script, failure
}

// openBoth opens the reference world and another one with the same clock, IDs and keys.
func openBoth(t *testing.T, other kind, ring *vault.Ring) ([]*world, error) {
	worlds := make([]*world, 2)
	mem := memstore.New(&memstore.Options{Seed: seedOfIDs})
	store, reopen := other.open(t)
	for i, open := range []struct {
		store  engine.Database
		reopen func() engine.Database
	}{
		{mem, func() engine.Database { return mem }},
		{store, reopen},
	} {
		var err error
		worlds[i] = &world{ctx: t.Context(), store: open.store, reopen: open.reopen, cfg: modelConfig, now: start, roll: 0.5,
			byHand: true, seals: sealed.New(ring, sealed.Options{})}
		if err = worlds[i].boot(); err != nil {
			return worlds, err
		}
	}
	return worlds, nil
}
