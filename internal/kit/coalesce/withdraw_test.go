package coalesce_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

// A call whose context ends before its batch has begun is not carried out; a later end waits for the outcome.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	var (
		began, release = make(chan struct{}), make(chan struct{})
		ran            []int
		once           = true
	)
	g := coalesce.New(10, 1, func(batch []int) ([]int, error) {
		if once {
			once = false
			close(began)
			<-release
		}
		ran = append(ran, batch...)
		return batch, nil
	})
	type outcome struct {
		out int
		err error
	}
	do := func(ctx context.Context, n int) <-chan outcome {
		c := make(chan outcome, 1)
		go func() {
			out, err := g.Do(ctx, n)
			c <- outcome{out, err}
		}()
		return c
	}
	first, cancelFirst := context.WithCancel(t.Context())
	running := do(first, 1)
	<-began
	second, cancelSecond := context.WithCancel(t.Context())
	queued := do(second, 2)
	cancelSecond()
	if o := <-queued; !errors.Is(o.err, context.Canceled) {
		t.Errorf("the queued call got %+v", o)
	}
	cancelFirst()
	close(release)
	if o := <-running; o.err != nil || o.out != 1 {
		t.Errorf("the running call got %+v", o)
	}
	if o := <-do(t.Context(), 3); o.err != nil || o.out != 3 {
		t.Errorf("the next call got %+v", o)
	}
	if _, err := g.Do(second, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled before got the error %v", err)
	}
	if !slices.Equal(ran, []int{1, 3}) {
		t.Errorf("ran %v", ran)
	}
}
