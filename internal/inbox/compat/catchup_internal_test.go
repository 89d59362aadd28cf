package compat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// slowBroker answers after a while, and says that messages wait.
type slowBroker struct {
	seam.Carrier
	takes time.Duration
}

func (b slowBroker) Depth(ctx context.Context, _ *deadletter.Source) (int64, error) {
	select {
	case <-time.After(b.takes):
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (slowBroker) OnTheWay(*deadletter.Source) bool { return true }

// The second of catchUp ends the waiting, not a question to the broker: a slow answer is no outage.
func TestCatchUpWithASlowBroker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, within time.Duration
		answers       bool
	}{
		"Quick":      {0, catchUpTime + catchUpEvery, true},
		"InTheMidst": {700 * time.Millisecond, 1500 * time.Millisecond, true},
		"TooLate":    {catchUpTime + time.Second, catchUpTime + time.Second, true},
		"Never":      {time.Hour, depthTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := &Views{carriers: seam.Carriers{"slow": slowBroker{takes: c.takes}}}
				begun := time.Now()
				err := in.catchUp(t.Context(), &deadletter.Source{Name: "jobs", Driver: "slow"})
				if took := time.Since(begun); (err == nil) != c.answers || took > c.within {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
