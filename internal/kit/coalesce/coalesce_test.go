package coalesce_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

func double(batches *atomic.Int64) func([]int) ([]int, error) {
	return func(in []int) ([]int, error) {
		batches.Add(1)
		out := make([]int, len(in))
		for i, v := range in {
			out[i] = 2 * v
		}
		return out, nil
	}
}

func TestEachCallerGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	var batches atomic.Int64
	g := coalesce.New(7, 2, double(&batches))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if got, err := g.Do(context.Background(), i); err != nil || got != 2*i {
				t.Errorf("Do(%d) = %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	if n := batches.Load(); n < 200/7 {
		t.Errorf("%d batches of at most 7 for 200 requests", n)
	}
}

// Calls during a batch share the next one.
func TestLateComersShareTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var sizes []int
		g := coalesce.New(100, 1, func(in []string) ([]string, error) {
			if sizes = append(sizes, len(in)); len(sizes) == 1 {
				<-release
			}
			return in, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(context.Background(), "first") })
		synctest.Wait()
		for range 10 {
			wg.Go(func() { _, _ = g.Do(context.Background(), "late") })
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if len(sizes) != 2 || sizes[0] != 1 || sizes[1] != 10 {
			t.Errorf("batches of %v", sizes)
		}
	})
}

// A call whose context ends before its batch is not carried out.
func TestGivingUpWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var ran []string
		g := coalesce.New(100, 1, func(in []string) ([]string, error) {
			if ran = append(ran, in...); len(ran) == 1 {
				<-release
			}
			return in, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(context.Background(), "first") })
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		wg.Go(func() {
			if _, err := g.Do(ctx, "late"); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that gave up got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		wg.Wait()
		synctest.Wait()
		if len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
	})
}

func TestErrorIsEveryCallers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	g := coalesce.New(10, 1, func([]int) ([]int, error) { return nil, broken })
	for range 3 {
		if _, err := g.Do(context.Background(), 1); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

func TestPanicIsAnErrorAndTheGroupGoesOn(t *testing.T) {
	t.Parallel()
	g := coalesce.New(10, 1, func(in []int) ([]int, error) {
		if in[0] < 0 {
			panic("negative")
		}
		return in, nil
	})
	if _, err := g.Do(context.Background(), -1); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("got %v", err)
	}
	if v, err := g.Do(context.Background(), 3); v != 3 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
}

// Posted requests run in order, and before later calls.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var seen [][]int
		g := coalesce.New(3, 1, func(in []int) ([]int, error) {
			if seen = append(seen, append([]int(nil), in...)); len(seen) == 1 {
				<-release
			}
			return in, nil
		})
		g.Post(1)
		synctest.Wait()
		for i := range 4 {
			g.Post(i + 2)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if got, err := g.Do(context.Background(), 6); got != 6 || err != nil {
				t.Errorf("Do answered %d, %v", got, err)
			}
		}()
		synctest.Wait() // the call waits behind requests that were posted before the running batch ends
		close(release)
		<-done
		if want := [][]int{{1}, {2, 3, 4}, {5, 6}}; !reflect.DeepEqual(seen, want) {
			t.Errorf("batches %v, want %v", seen, want)
		}
	})
}

// A bad request fails alone; an error of all is not divided.
func TestApart(t *testing.T) {
	t.Parallel()
	bad, down := errors.New("bad"), errors.New("down")
	for name, why := range map[string]error{"Bad": bad, "Down": down} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hold, batches := make(chan struct{}), 0
				g := coalesce.New(100, 1, func(in []int) ([]int, error) {
					<-hold
					batches++
					for _, n := range in {
						if n == 5 {
							return nil, why
						}
					}
					return in, nil
				}).Apart(func(err error) bool { return errors.Is(err, bad) })
				errs := make([]error, 9)
				var wg sync.WaitGroup
				for i := range errs {
					wg.Go(func() { _, errs[i] = g.Do(t.Context(), i) })
					synctest.Wait()
				}
				close(hold)
				wg.Wait()
				for i, err := range errs {
					if fails := i == 5 || why == down && i > 0; fails != (err != nil) {
						t.Errorf("request %d: %v", i, err)
					}
				}
				if most := map[error]int{bad: 8, down: 2}[why]; batches > most {
					t.Errorf("%d batches; %d are enough", batches, most)
				}
			})
		})
	}
}
