package dispatchtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func queueCases() []testCase {
	return []testCase{
		{"LowestKeyFirst", lowestKeyFirst},
		{"AllKeys", allKeys},
		{"EqualKeysByID", equalKeysByID},
		{"ManyRoutes", manyRoutes},
		{"AllRoutesAndWorkers", allRoutesAndWorkers},
		{"OnlyItsRoutes", onlyItsRoutes},
		{"ClaimsInTurn", claimsInTurn},
		{"NoCapacity", noCapacity},
		{"NothingToDo", nothingToDo},
		{"Window", window},
		{"AsOffered", asOffered},
		{"StartAtOnce", startAtOnce},
		{"TokensGrow", tokensGrow},
		{"OfferWaitingAgain", offerWaitingAgain},
		{"OfferHeldAgain", offerHeldAgain},
		{"OfferTwiceAtOnce", offerTwiceAtOnce},
		{"OfferNewer", offerNewer},
		{"OfferHeldNewer", offerHeldNewer},
		{"MissingElsewhere", missingElsewhere},
		{"LargeBatches", largeBatches},
	}
}

func lowestKeyFirst(f *fixture) {
	f.offer(step(3), step(1), step(2))
	f.same("first", numbered(1, 2), ids(f.claims(claim(2))[0]))
	f.offer(step(0))
	f.same("then", numbered(0, 3), ids(f.claims(claim(5))[0]))
}

// Keys have 64 bits, of which a float keeps 53.
func allKeys(f *fixture) {
	keys := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -1<<53 + 1, -256, -255, -1, 0, 1, 255, 256, math.MaxInt32,
		math.MaxUint32,
		1 << 53, 1<<53 + 1, 1<<53 + 2, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64}
	list := make([]engine.Offered, len(keys))
	for i, k := range keys {
		list[i] = step(len(keys) - i) // IDs the other way round
		list[i].Key = k
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	f.offer(list...)
	var got []int64
	for _, h := range f.claims(claim(len(keys)))[0] {
		got = append(got, h.Key)
	}
	f.same("keys", keys, got)
}

func equalKeysByID(f *fixture) {
	list := steps(1, 300)
	for i := range list {
		list[i].Key = 5
		list[i].Route = int64(i % 3)
	}
	slices.Reverse(list)
	f.offer(list...)
	c := claim(300)
	c.Routes = []int64{2, 0, 1}
	var want []task.ID
	for n := 1; n <= 300; n++ {
		want = append(want, id(n))
	}
	f.same("order", want, ids(f.claims(c)[0]))
}

func manyRoutes(f *fixture) {
	const n = 400
	var all, odd []int64
	list := make([]engine.Offered, 0, 2*n)
	for i := range 2 * n {
		s := step(i)
		s.Route = int64(i * 7919 % n)
		list = append(list, s)
	}
	for r := range int64(n) {
		all = append(all, r)
		if r%2 == 1 {
			odd = append(odd, r)
		}
	}
	f.offer(list...)
	a, b := claim(50), claim(n)
	a.Routes, b.Routes = odd, all
	got := f.claims(a, b, a)
	taken := map[task.ID]bool{}
	for i, from := range [][]int64{odd, all, odd} {
		var want []task.ID
		capacity := []int{50, n, 50}[i]
		for _, s := range list {
			if len(want) < capacity && !taken[s.Step] && slices.Contains(from, s.Route) {
				want = append(want, s.Step)
				taken[s.Step] = true
			}
		}
		f.same("claim", want, ids(got[i]))
	}
}

func allRoutesAndWorkers(f *fixture) {
	for i, n := range []int64{math.MinInt64, -1, 0, 1, 13, 1<<53 + 1, math.MaxInt64} {
		s := step(i)
		s.Route = n
		f.offer(s)
		c := claim(2)
		c.Routes, c.Worker = []int64{n}, n
		h := f.one(c)
		if h.Route != n || h.Worker != n {
			f.Fatalf("route %d, worker %d, want %d", h.Route, h.Worker, n)
		}
		held, err := f.d.HeldBy(f.Context(), n, 10)
		f.ok(err)
		f.same("HeldBy", []engine.Hold{h}, held)
	}
}

func onlyItsRoutes(f *fixture) {
	other := step(1)
	other.Route = route + 1
	f.offer(other, step(2))
	f.same("claimed", numbered(2), ids(f.claims(claim(5))[0]))
	none := claim(5)
	none.Routes = nil
	f.same("without routes", []task.ID{}, ids(f.claims(none)[0]))
}

func claimsInTurn(f *fixture) {
	f.offer(steps(1, 5)...)
	a, b, c := claim(2), claim(2), claim(2)
	b.Worker, c.Worker = 4, 5
	got := f.claims(a, b, c)
	f.same("first", numbered(1, 2), ids(got[0]))
	f.same("second", numbered(3, 4), ids(got[1]))
	f.same("third", numbered(5), ids(got[2]))
	if w := got[1][0].Worker; w != 4 {
		f.Errorf("worker %d, want 4", w)
	}
}

func noCapacity(f *fixture) {
	f.offer(step(1))
	got := f.claims(claim(0), claim(-1), claim(1))
	f.same("claimed", []int{0, 0, 1}, []int{len(got[0]), len(got[1]), len(got[2])})
}

// Every verb accepts an empty list.
func nothingToDo(f *fixture) {
	ctx := f.Context()
	f.ok(f.d.Offer(ctx, nil))
	f.ok(f.d.Remove(ctx, nil))
	f.claims()
	_, err := f.d.Start(ctx, nil, start, start)
	f.ok(err)
	_, err = f.d.Renew(ctx, nil, start)
	f.ok(err)
	_, err = f.d.Find(ctx, nil)
	f.ok(err)
	_, err = f.d.Missing(ctx, nil)
	f.ok(err)
	_, err = f.d.Waiting(ctx, nil)
	f.ok(err)
	held, err := f.d.HeldBy(ctx, worker, 0)
	f.ok(err)
	due, err := f.d.Expired(ctx, start, 0)
	f.ok(err)
	f.same("holds", 0, len(held)+len(due))
}

// A batch ends before the step that would make it too mixed.
func window(f *fixture) {
	for i, p := range []int{50, 60, 45, 55, 100, 0} {
		s := step(i)
		s.Priority = p
		f.offer(s)
	}
	c := claim(10)
	c.Window = 15
	got := f.claims(c, c, c, c)
	f.same("50 to 45", numbered(0, 1, 2, 3), ids(got[0]))
	f.same("100", numbered(4), ids(got[1]))
	f.same("0", numbered(5), ids(got[2]))
	f.same("rest", numbered(), ids(got[3]))
}

func asOffered(f *fixture) {
	want := engine.Offered{Step: id(9), Route: route, Key: -77, Timeout: 90*time.Second + time.Microsecond,
		Token: 1<<51 + 1, Priority: 100}
	f.offer(want)
	h := f.one(claim(1))
	want.Token++
	f.same("hold", engine.Hold{Offered: want, Worker: worker, AssignedAt: start, Until: start + 30*second,
		LookAt: start + 30*second}, h)
	f.same("found", h, f.find(9))
}

func startAtOnce(f *fixture) {
	short := step(1)
	short.Timeout = 40 * time.Second
	long := step(2)
	endless := step(3)
	endless.Timeout = 0
	f.offer(short, long, endless)
	c := claim(3)
	c.Start, c.Until = true, start+50*second
	for i, h := range f.claims(c)[0] {
		lookAt := []task.Instant{start + 40*second, start + 50*second, start + 50*second}[i]
		if h.StartedAt != start || h.AssignedAt != start || h.Until != c.Until || h.LookAt != lookAt {
			f.Errorf("%d: %+v, want to be looked after at %d", i, h, lookAt)
		}
	}
}

// A token grows with every lease, and is at least the claim's.
func tokensGrow(f *fixture) {
	s := step(1)
	f.offer(s)
	last := f.one(claim(1))
	f.same("first", int64(1), last.Token)
	c := claim(1)
	for i, min := range []int64{int64(start), 5, int64(start) + 1, 1<<53 - 2} {
		f.ok(f.d.Remove(f.Context(), removals(last.Offered)))
		f.offer(last.Offered)
		c.Token = min
		h := f.one(c)
		if want := max(last.Token+1, min); h.Token != want {
			f.Errorf("%d: token %d after %d, want %d", i, h.Token, last.Token, want)
		}
		last = h
	}
}

func offerWaitingAgain(f *fixture) {
	f.offer(step(1), step(2))
	again := step(2)
	again.Key, again.Route, again.Priority = 0, route+1, 3
	f.offer(again)
	c := claim(5)
	c.Routes = []int64{route, route + 1}
	got := f.claims(c)[0]
	f.same("claimed", numbered(1, 2), ids(got))
	f.same("key", int64(2), got[1].Key)
}

func offerHeldAgain(f *fixture) {
	h := f.started(1)
	f.offer(step(1))
	f.same("claimed again", 0, len(f.claims(claim(1))[0]))
	f.same("hold", h, f.find(1))
}

func offerTwiceAtOnce(f *fixture) {
	later := step(1)
	later.Key = 9
	f.offer(step(1), step(2), later)
	got := f.claims(claim(5))[0]
	f.same("claimed", numbered(1, 2), ids(got))
	f.same("key", int64(1), got[0].Key)
}

// later is a step after one more lease: in another place, with more time.
func later(n int) engine.Offered {
	s := step(n)
	s.Key, s.Timeout, s.Token = 99, 2*time.Minute, 5
	return s
}

// A step from before a lease and one from after it may be offered in either order. The later one counts.
func offerNewer(f *fixture) {
	for _, order := range [][]engine.Offered{{step(1), later(1)}, {later(1), step(1)}} {
		for _, atOnce := range []bool{true, false} {
			if atOnce {
				f.offer(order...)
			} else {
				f.offer(order[0])
				f.offer(order[1])
			}
			depth, err := f.d.Depth(f.Context(), route, 1000, task.ID{})
			f.ok(err)
			f.same("waiting", 1, depth)
			h := f.one(claim(1))
			want := later(1)
			want.Token++
			f.same("offered", want, h.Offered)
			f.ok(f.d.Remove(f.Context(), removals(h.Offered)))
		}
	}
}

// Offering a step under the token of its lease, or a later one, ends that lease.
func offerHeldNewer(f *fixture) {
	h := f.started(1)
	for _, token := range []int64{h.Token, h.Token + 7} {
		again := later(1)
		again.Token = token
		f.offer(again)
		held, err := f.d.HeldBy(f.Context(), worker, 5)
		f.ok(err)
		f.same("held", 0, len(held))
		h = f.one(claim(1))
		f.same("token", token+1, h.Token)
		again.Token = h.Token - 1
		f.offer(again) // of before
		f.same("hold", h, f.find(1))
	}
}

// A step that waits in another place is missing.
func missingElsewhere(f *fixture) {
	f.offer(steps(1, 2)...)
	moved := step(2)
	moved.Key = 77
	gone, err := f.d.Missing(f.Context(), []engine.Offered{step(1), moved})
	f.ok(err)
	f.same("missing", []engine.Offered{moved}, gone)
}

func largeBatches(f *fixture) {
	const n = 5500
	f.offer(steps(1, n)...)
	single, rest := claim(2500), claim(100)
	list := []engine.Claim{single}
	for range 31 {
		list = append(list, rest)
	}
	at := 1
	var refs []engine.LeaseRef
	var gone []engine.Offered
	for _, holds := range f.claims(list...) {
		for _, h := range holds {
			if h.Step != id(at) {
				f.Fatalf("step %d came at %d", h.Step.Seq(), at)
			}
			refs, gone = append(refs, ref(h)), append(gone, h.Offered)
			at++
		}
	}
	f.same("claimed", n+1, at)
	held, err := f.d.Start(f.Context(), refs, start, start+minute)
	f.ok(err)
	for i, h := range held {
		if h.Step != refs[i].Step || h.StartedAt != start {
			f.Fatalf("answer %d: %+v", i, h)
		}
	}
	due, err := f.d.Expired(f.Context(), start+minute, n+1)
	f.ok(err)
	f.same("expired", n, len(due))
	f.ok(f.d.Remove(f.Context(), removals(gone...)))
	left, err := f.d.Missing(f.Context(), gone)
	f.ok(err)
	f.same("removed", n, len(left))
}
