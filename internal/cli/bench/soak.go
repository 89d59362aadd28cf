package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// soakRetention of finished tasks and resolved cases is short, so that a soak of minutes covers many generations of
// rows.
const soakRetention = time.Minute

type soaked struct {
	opts   Options
	minute time.Duration // shorter in tests
	node   *node.Node
	client *tasker.Client
	sizes  sizer
	load   soakLoad
	told   func(SoakMinute)
}

// runSoak keeps one node under a steady load, and measures growth each minute. tell, if not nil, receives each
// minute.
func runSoak(ctx context.Context, opts Options, minute time.Duration) (report Report, err error) {
	if err := opts.Validate(); err != nil {
		return report, err
	}
	report.Setting = opts.setting()
	own, drop, err := ownSchema(ctx, opts.DB)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	n, err := node.Open(ctx, own, node.Options{Dispatch: OwnPrefix(opts.Dispatch), Engine: settings.Config{
		Retention: settings.Retention{Finished: soakRetention, Cases: soakRetention}}})
	if err != nil {
		return report, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- n.Run(running) }()
	defer func() {
		stop()
		if e := <-ended; !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
		err = errors.Join(err, n.Close())
	}()
	s := &soaked{opts: opts, minute: minute, node: n, client: tasker.NewClient(n), told: opts.EachMinute}
	if s.sizes, err = openSizer(ctx, own); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.sizes.close()) }()
	report.Soak, err = s.run(ctx)
	if err != nil {
		return report, err
	}
	report.MaxRSSBytes, err = maxRSS([]int{os.Getpid()})
	return report, err
}

func (s *soaked) run(ctx context.Context) (*SoakReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := s.load.start(ctx, s.client, s.opts)
	r := &SoakReport{Rate: s.opts.Rate, WarmUp: soakWarmUp(s.opts.Minutes)}
	tick := time.NewTicker(s.minute)
	defer tick.Stop()
	for minute := 1; minute <= s.opts.Minutes; minute++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), stop())
		}
		m, err := s.look(ctx, minute)
		if err == nil && !s.opts.Unattended {
			err = s.load.attend(ctx, s.client, time.Now().Add(-s.minute/2))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("minute %d: %w", minute, err), stop())
		}
		r.Minutes = append(r.Minutes, m)
		if s.told != nil {
			s.told(m)
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	r.judge()
	return r, nil
}

func (s *soaked) look(ctx context.Context, minute int) (m SoakMinute, err error) {
	m = s.load.sample()
	m.Minute = minute
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	m.HeapBytes, m.Goroutines = int64(live[0].Value.Uint64()), runtime.NumGoroutine()
	if m.RSSBytes, err = residentSize(); err != nil {
		return m, err
	}
	if m.Relations, err = s.sizes.relations(ctx); err != nil {
		return m, err
	}
	for _, r := range m.Relations {
		m.DatabaseBytes += r.Bytes
		m.DeadRows += r.DeadRows
	}
	return m, nil
}
