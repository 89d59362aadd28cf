package remote

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
)

type lab struct {
	g       *gatherer[int, int]
	mu      sync.Mutex
	sent    [][]int
	proceed chan struct{}
	refuse  func([]int) error
}

func newLab(maxItems, maxWeight int) *lab {
	l := &lab{proceed: make(chan struct{})}
	l.g = newGatherer(context.Background(), "send", 2, 3, maxItems, maxWeight,
		func(n *int) int { return *n }, l.send)
	return l
}

func (l *lab) send(_ context.Context, items []int) ([]int, error) {
	l.mu.Lock()
	l.sent = append(l.sent, slices.Clone(items))
	l.mu.Unlock()
	<-l.proceed
	if l.refuse != nil {
		if err := l.refuse(items); err != nil {
			return nil, err
		}
	}
	doubled := make([]int, len(items))
	for i, n := range items {
		doubled[i] = 2 * n
	}
	return doubled, nil
}

func (l *lab) call(ctx context.Context, n int) <-chan error {
	done := make(chan error, 1)
	go func() {
		got, err := l.g.do(ctx, n)
		if err == nil && got != 2*n {
			err = errors.New("got the answer of another caller")
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func (l *lab) sizes() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sizes []int
	for _, batch := range l.sent {
		sizes = append(sizes, len(batch))
	}
	return sizes
}

func all(t *testing.T, calls []<-chan error) {
	t.Helper()
	for _, c := range calls {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
}

func TestGather(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		maxItems, maxWeight int
		weights             []int
		want                []int
	}{
		// The first goes alone; the next three wait, and open the second lane; the rest goes together.
		"Alone":         {100, 1000, []int{1}, []int{1}},
		"TooFewToWiden": {100, 1000, []int{1, 1, 1}, []int{1, 2}},
		"Together":      {100, 1000, []int{1, 1, 1, 1, 1, 1, 1}, []int{1, 3, 3}},
		"AtMostItems":   {3, 1000, []int{1, 1, 1, 1, 1, 1, 1, 1}, []int{1, 3, 3, 1}},
		"AtMostWeight":  {100, 10, []int{1, 1, 1, 1, 6, 4, 1, 2}, []int{1, 3, 2, 2}},
		"OneMayBeHeavy": {100, 10, []int{1, 99, 99}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(tc.maxItems, tc.maxWeight)
				var calls []<-chan error
				for _, w := range tc.weights {
					calls = append(calls, l.call(t.Context(), w))
				}
				if got, want := l.sizes(), tc.want[:min(len(tc.weights)/4+1, 2)]; !slices.Equal(got, want) {
					t.Errorf("in flight: %v, want %v", got, want)
				}
				for range tc.want {
					l.proceed <- struct{}{}
					synctest.Wait()
				}
				all(t, calls)
				if got := l.sizes(); !slices.Equal(got, tc.want) {
					t.Errorf("sent in %v, want %v", got, tc.want)
				}
			})
		})
	}
}

// TestGatherCallerLeaves: a caller whose ctx ends returns immediately; its unsent item is never sent, and the others
// do not notice.
func TestGatherCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(100, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		sent := l.call(ctx, 1)
		queued := l.call(ctx, 2)
		other := l.call(t.Context(), 3)
		cancel()
		for _, c := range []<-chan error{sent, queued} {
			if err := <-c; !errors.Is(err, context.Canceled) {
				t.Errorf("left with %v, want context.Canceled", err)
			}
		}
		close(l.proceed)
		all(t, []<-chan error{other})
		if err := <-l.call(ctx, 5); !errors.Is(err, context.Canceled) {
			t.Errorf("a call after the end of its ctx: %v", err)
		}
		synctest.Wait()
		if want := []int{1, 1}; !slices.Equal(l.sizes(), want) || l.sent[1][0] != 3 {
			t.Errorf("sent %v, want 1 and 3", l.sent)
		}
		if l.g.busy != 0 || len(l.g.queue) != 0 {
			t.Errorf("%d lanes busy and %d queued at the end", l.g.busy, len(l.g.queue))
		}
	})
}

// TestGatherBadItem: a refused batch is sent in halves, so that only the caller of the bad item sees the refusal.
func TestGatherBadItem(t *testing.T) {
	t.Parallel()
	const bad = 7
	for name, tc := range map[string]struct {
		err  error
		hurt int // callers that see the error
	}{
		"Invalid":     {tasker.Errorf(tasker.CodeInvalid, "bad"), 1},
		"TooLarge":    {tasker.Errorf(tasker.CodeTooLarge, "bad"), 1},
		"Unavailable": {tasker.Errorf(tasker.CodeUnavailable, "away"), 7}, // may have been stored: must not be sent twice
		"LongAnswer":  {&tasker.Error{Code: tasker.CodeTooLarge, Message: "long", Err: wire.ErrTooLong}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(100, 1000)
				l.refuse = func(items []int) error {
					if slices.Contains(items, bad) {
						return tc.err
					}
					return nil
				}
				var calls []<-chan error
				for n := 1; n <= 11; n++ { // 1 goes alone, 2 to 4 together, then 5 to 11
					calls = append(calls, l.call(t.Context(), n))
				}
				close(l.proceed)
				hurt := 0
				for i, c := range calls {
					if err := <-c; err != nil {
						hurt++
						if tc.hurt == 1 && i+1 != bad {
							t.Errorf("the caller of %d sees %v", i+1, err)
						}
					}
				}
				if hurt != tc.hurt {
					t.Errorf("%d callers see the error, want %d", hurt, tc.hurt)
				}
			})
		})
	}
}
