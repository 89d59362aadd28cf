package engine

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateOrder = flag.Bool("update-order", false, "write the order of stages anew")

func TestOrderOfStages(t *testing.T) {
	k, err := newPoints(features())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# The end of a transaction, and the tables whose rows each stage may lock\n")
	for _, s := range k.stages {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%3d %-18s %s", s.rank, s.name, strings.Join(s.locks, ", ")), " ") + "\n")
	}
	b.WriteString("# After its commit\n")
	for _, f := range k.after {
		fmt.Fprintf(&b, "%3d %s\n", f.rank, f.name)
	}
	const file = "testdata/order.txt"
	if *updateOrder {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the order has changed; it must not do so by accident (write it with -update-order):\n%s", b.String())
	}
}

func TestEqualRanks(t *testing.T) {
	for _, double := range []feature{
		{stages: []stage{{rank: rankRows, name: "a"}, {rank: rankRows, name: "b"}}},
		{after: []followUp{{rank: afterQueue, name: "a"}, {rank: afterQueue, name: "b"}}},
	} {
		_, err := newPoints([]feature{double})
		if err == nil || !strings.Contains(err.Error(), "a and b have the same rank") {
			t.Errorf("two stages of one rank: %v", err)
		}
	}
}
