package chain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/chain"
)

func sealed(n int) (links []chain.Link, acts []chain.Act) {
	var head chain.Head
	for i := range n {
		a := chain.Act{No: int64(2 * (i + 1)), At: int64(i), Kind: "cancel", Actor: "ada", Data: []byte(`{"n": 1}`)}
		l := head.Next(&a, int64(100+i))
		links, acts, head = append(links, l), append(acts, a), l.Head()
	}
	return links, acts
}

func verify(links []chain.Link, acts []chain.Act) (*chain.Verifier, *chain.Fault) {
	byNo := map[int64]*chain.Act{}
	for i := range acts {
		byNo[acts[i].No] = &acts[i]
	}
	v := chain.From(chain.Head{})
	for i := range links {
		if f := v.Add(&links[i], byNo[links[i].Act]); f != nil {
			return v, f
		}
	}
	return v, nil
}

// TestFaultsAreNamed changes one part of a chain of five; exactly that must be named.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(links *[]chain.Link, acts *[]chain.Act)
		want   chain.Fault
	}{
		"ActChanged": {func(_ *[]chain.Link, acts *[]chain.Act) { (*acts)[2].Reason = "another" },
			chain.Fault{Finding: chain.Changed, Seq: 3, Act: 6}},
		"ActRemoved": {func(_ *[]chain.Link, acts *[]chain.Act) { *acts = append((*acts)[:2], (*acts)[3:]...) },
			chain.Fault{Finding: chain.Removed, Seq: 3, Act: 6}},
		"ContentChanged": {func(links *[]chain.Link, _ *[]chain.Act) { (*links)[1].Content[0]++ },
			chain.Fault{Finding: chain.LinkChanged, Seq: 2, Act: 4}},
		"HashChanged": {func(links *[]chain.Link, _ *[]chain.Act) { (*links)[1].Hash[31]++ },
			chain.Fault{Finding: chain.LinkChanged, Seq: 2, Act: 4}},
		"TimeChanged": {func(links *[]chain.Link, _ *[]chain.Act) { (*links)[4].SealedAt++ },
			chain.Fault{Finding: chain.LinkChanged, Seq: 5, Act: 10}},
		"LinkRemoved": {func(links *[]chain.Link, _ *[]chain.Act) { *links = append((*links)[:1], (*links)[2:]...) },
			chain.Fault{Finding: chain.LinkRemoved, Seq: 2}},
		"FirstLinkRemoved": {func(links *[]chain.Link, _ *[]chain.Act) { *links = (*links)[1:] },
			chain.Fault{Finding: chain.LinkRemoved, Seq: 1}},
		"ActsSwapped": {func(links *[]chain.Link, acts *[]chain.Act) {
			(*links)[0].Act, (*links)[1].Act = (*links)[1].Act, (*links)[0].Act
		}, chain.Fault{Finding: chain.LinkChanged, Seq: 1, Act: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			links, acts := sealed(5)
			tc.change(&links, &acts)
			_, got := verify(links, acts)
			if got == nil {
				t.Fatal("nothing was found")
			}
			if got.Message == "" {
				t.Error("the fault has no message")
			}
			got.Message = ""
			if *got != tc.want {
				t.Errorf("found %+v, want %+v", *got, tc.want)
			}
		})
	}
}

func TestEveryFieldIsCovered(t *testing.T) {
	t.Parallel()
	base := chain.Act{}
	seen := map[chain.Hash]int{base.Sum(): -1}
	for i, change := range []func(a *chain.Act){
		func(a *chain.Act) { a.No = 1 }, func(a *chain.Act) { a.At = 1 }, func(a *chain.Act) { a.Kind = "x" },
		func(a *chain.Act) { a.Actor = "x" }, func(a *chain.Act) { a.Auth = "x" }, func(a *chain.Act) { a.Key = "x" },
		func(a *chain.Act) { a.Reason = "x" }, func(a *chain.Act) { a.Task = "x" }, func(a *chain.Act) { a.Step = "x" },
		func(a *chain.Act) { a.Case = "x" }, func(a *chain.Act) { a.Worker = "x" },
		func(a *chain.Act) { a.Namespace = "x" }, func(a *chain.Act) { a.Template = "x" },
		func(a *chain.Act) { a.Before = "x" }, func(a *chain.Act) { a.After = "x" },
		func(a *chain.Act) { a.Data = []byte(`1`) }, func(a *chain.Act) { a.Damage = "x" },
		func(a *chain.Act) { a.Kind, a.Actor = "a", "b" }, func(a *chain.Act) { a.Kind, a.Actor = "ab", "" },
	} {
		a := base
		change(&a)
		if other, taken := seen[a.Sum()]; taken {
			t.Errorf("changes %d and %d have the same hash", i, other)
		}
		seen[a.Sum()] = i
	}
}

// TestSumSurvivesTransport: embedding an act's JSON into a document keeps its hash.
func TestSumSurvivesTransport(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"b": [1, 2.50,1e5], "a" : "<&>\u2028 \/ é"}`, `"\ud800"`, `{"a":1,"a":2}`, `no JSON`,
		``} {
		a := chain.Act{Reason: "bad \xff\xfe text", Data: []byte(data)}
		b := chain.Act{Data: []byte(data)}
		if text, err := json.Marshal(a.Reason); err != nil || json.Unmarshal(text, &b.Reason) != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(data)) {
			doc, err := json.Marshal(struct{ D json.RawMessage }{json.RawMessage(data)})
			if err != nil {
				t.Fatal(err)
			}
			var back struct{ D json.RawMessage }
			if err := json.Unmarshal(doc, &back); err != nil {
				t.Fatal(err)
			}
			b.Data = back.D
		}
		if a.Sum() != b.Sum() {
			t.Errorf("%s: the hash of the act has changed on its way", data)
		}
	}
}

// TestSumIsFixed pins the format: a newer version must verify an older chain.
func TestSumIsFixed(t *testing.T) {
	t.Parallel()
	links, acts := sealed(2)
	v, fault := verify(links, acts)
	if fault != nil {
		t.Fatal(fault)
	}
	const want = "2-962542b67a8f4b76e0e77e5e2e982d14188999239c6e141eddabf38c6ff83f56"
	if got := v.Head().String(); got != want {
		t.Errorf("the head is %s, want %s", got, want)
	}
}

func TestParseHead(t *testing.T) {
	t.Parallel()
	links, _ := sealed(3)
	head := links[2].Head()
	if got, err := chain.ParseHead(head.String()); err != nil || got != head {
		t.Errorf("%s is read as %v, %v", head, got, err)
	}
	if got, err := chain.ParseHead((chain.Head{}).String()); err != nil || got != (chain.Head{}) {
		t.Errorf("the empty head is read as %v, %v", got, err)
	}
	sum := strings.Repeat("a", 64)
	for _, bad := range []string{"", "1", "-1-" + sum, "+1-" + sum, "01-" + sum, "1-" + sum[1:], "1-" + sum + "a",
		"x-" + sum, "1-" + strings.Repeat("g", 64), "0-" + sum, "9223372036854775808-" + sum, " 1-" + sum} {
		if got, err := chain.ParseHead(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
