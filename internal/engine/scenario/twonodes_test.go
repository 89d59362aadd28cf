package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// twoNodesVariable is the time for which TestTwoNodes tries seeds, such as 10m, counted up from -seed if it is set.
const twoNodesVariable = "TASKER_TEST_TWO_NODES"

// firstSeeds come first in short runs. Each finds other faults of the past; see the design note.
var firstSeeds = []uint64{1, 2, featureSeeds, 4, deliverySeeds, pauseSeeds}

// TestTwoNodes runs random verbs on two nodes with caches on one PostgreSQL. A scheduler interleaves their statements
// under a seed; after each round the invariants are checked. A failing run is shrunk and printed with the order of
// its last statements.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	budget, rounds := 15*time.Second, 60
	if testing.Short() {
		budget, rounds = 2*time.Second, 15
	}
	long := os.Getenv(twoNodesVariable)
	if long != "" {
		var err error
		if budget, err = time.ParseDuration(long); err != nil {
			t.Fatalf("%s: %v", twoNodesVariable, err)
		}
	}
	if *opsFlag != 0 {
		rounds = *opsFlag
	}
	began := time.Now()
	for n := uint64(1); n == 1 || time.Since(began) < budget && (*seedFlag == 0 || long != ""); n++ {
		seed := rand.Uint64()
		if *seedFlag != 0 {
			seed = *seedFlag + n - 1
		} else if long == "" && int(n) <= len(firstSeeds) {
			seed = firstSeeds[n-1]
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			script := generateRounds(seed, rounds)
			began := time.Now()
			d, err := playRounds(t, script)
			if err == nil {
				t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), d.figures)
				return
			}
			found := time.Since(began)
			small, again := shrinkRounds(t, script[:d.figures.rounds], err)
			t.Errorf("%v\nfound after %v; replay: go test -run TestTwoNodes -seed %d -ops %d\n"+
				"shrunk from %d rounds to these %d:\n%s",
				again, found.Round(time.Millisecond), seed, rounds, len(script), len(small), describeRounds(small))
		})
		if t.Failed() {
			return
		}
	}
}

// round is verbs of the two nodes in parallel after preparations, or only these.
type round struct {
	before []op
	lines  [2][]op // of each node
	seed   uint64  // of the order of statements
	all    bool    // it may have all verbs of TestModel
}

// Verbs that run alone, and those that may run beside any other.
var (
	aloneVerbs  = []string{"advance", "upkeep", "news", "restart", "worker", "finishing", "failing"}
	besideVerbs = []string{"submit", "submit", "burst", "keyed", "worker", "claim", "claim", "claim", "start", "settle",
		"settle", "settle", "heartbeat", "cancel", "act", "act", "replay", "case", "retain", "unserved", "upkeep", "drain"}
)

type rivalry struct {
	before []string
	pair   [2]string
}

// rivals are verbs that work on the same rows, with their preparations. Those that must meet in one place are there
// twice.
var rivals = []rivalry{
	{[]string{"crew", "stock", "stock", "news"}, [2]string{"claim all", "claim few"}},
	{[]string{"crew", "stock", "stock", "news"}, [2]string{"claim all", "claim few"}},
	{[]string{"stock", "stock", "news"}, [2]string{"claim", "claim"}},
	{[]string{"stock"}, [2]string{"claim", "settle"}},
	{[]string{"keyed", "key edge"}, [2]string{"keyed", "retain"}},
	{[]string{"key edge"}, [2]string{"keyed", "keyed"}},
	{[]string{"worker edge", "bury"}, [2]string{"revive", "retain"}},
	{[]string{"finishing", "finish edge"}, [2]string{"open case", "retain"}},
	{[]string{"finishing", "finish edge"}, [2]string{"open case", "retain"}},
	{[]string{"failing", "deadline edge"}, [2]string{"repair", "upkeep"}},
	{[]string{"failing", "advance"}, [2]string{"repair", "cancel"}},
	{[]string{"advance"}, [2]string{"unserved", "claim"}},
	{nil, [2]string{"settle", "cancel"}},
	{nil, [2]string{"settle", "case"}},
}

// generateRounds makes a quarter of the script verbs alone, a quarter any verbs in parallel, the rest rivals.
func generateRounds(seed uint64, n int) []round {
	r := rand.New(rand.NewPCG(seed, 11))
	beside, rivals, alone := besideVerbs, rivals, aloneVerbs
	if seed >= deliverySeeds {
		beside, rivals = slices.Concat(beside, deliveryVerbs), slices.Concat(rivals, deliveryRivals)
	}
	all := seed >= featureSeeds && seed < featureSeeds+1000
	if all {
		beside, rivals, alone = featureVerbs, featureRivals, modelVerbs()
	} else if seed >= pauseSeeds {
		beside, rivals = slices.Concat(beside, pauseVerbs), slices.Concat(rivals, pauseRivals)
	}
	verbs := func(kinds ...string) []op {
		var list []op
		for _, kind := range kinds {
			o := op{kind: kind}
			for i := range o.n {
				o.n[i] = r.Uint32()
			}
			list = append(list, o)
		}
		return list
	}
	script := make([]round, 0, n)
	for range n {
		next := round{seed: r.Uint64(), all: all}
		switch r.IntN(4) {
		case 0:
			next.before = verbs(alone[r.IntN(len(alone))])
		case 1:
			for i := range next.lines {
				for range 1 + r.IntN(2) {
					next.lines[i] = append(next.lines[i], verbs(beside[r.IntN(len(beside))])...)
				}
			}
		default:
			of, turn := rivals[r.IntN(len(rivals))], r.IntN(2)
			next.before = verbs(of.before...)
			next.lines[turn], next.lines[1-turn] = verbs(of.pair[0]), verbs(of.pair[1])
		}
		script = append(script, next)
	}
	return script
}

// playRounds returns what went wrong; the figures have the number of rounds.
func playRounds(t *testing.T, script []round) (*duo, error) {
	d, err := newDuo(t, slices.ContainsFunc(script, func(r round) bool { return r.all }))
	if d == nil {
		return nil, err
	}
	defer d.close()
	if err != nil {
		return d, err
	}
	for i, r := range script {
		d.figures.rounds = i + 1
		if err := d.played(r, i%10 == 9); err != nil {
			return d, fmt.Errorf("round %d, %s: %w\nin this order:\n%s", i, r, err, d.trace)
		}
	}
	d.trace = ""
	if err := d.finish(); err != nil {
		return d, fmt.Errorf("at the end: %w", err)
	}
	return d, d.check(true)
}

func (d *duo) played(r round, whole bool) error {
	if err := d.round(r); err != nil {
		return err
	}
	if err := d.rest(len(r.lines[0]) > 0, whole); err != nil {
		return err
	}
	return d.check(whole)
}

// shrinkRounds removes rounds, then verbs, while the script fails, and returns the last failure.
func shrinkRounds(t *testing.T, script []round, failure error) ([]round, error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	try := func(shorter []round) bool {
		if time.Now().After(deadline) {
			return false
		}
		_, err := playRounds(t, shorter)
		if err != nil {
			script, failure = shorter, err
		}
		return err != nil
	}
	for piece := max(len(script)/2, 1); piece > 0; piece /= 2 {
		for at := 0; at+piece <= len(script); {
			if !try(append(append([]round{}, script[:at]...), script[at+piece:]...)) {
				at += piece
			}
		}
	}
	return script, failure
}

func (r round) String() string {
	kinds := func(line []op) string {
		var list []string
		for _, o := range line {
			list = append(list, o.kind)
		}
		return strings.Join(list, ", ")
	}
	switch {
	case len(r.lines[0])+len(r.lines[1]) == 0:
		return kinds(r.before)
	case len(r.before) == 0:
		return kinds(r.lines[0]) + " beside " + kinds(r.lines[1])
	}
	return kinds(r.before) + "; " + kinds(r.lines[0]) + " beside " + kinds(r.lines[1])
}

func describeRounds(script []round) string {
	var b strings.Builder
	for _, r := range script {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}
