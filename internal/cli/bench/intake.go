package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// handler is the task type of the intake, without a worker.
const handler = "bench"

type intakeCount struct{ tasks, known, letters atomic.Int64 }

func (c *intakeCount) add(_, _ string, of inbox.Intaken) {
	c.tasks.Add(int64(of.Tasks))
	c.known.Add(int64(of.Known))
	c.letters.Add(int64(of.Letters))
}

// unlimited has no back-pressure, because nothing removes the tasks.
func unlimited() settings.Config {
	return settings.Config{Backpressure: settings.Backpressure{Soft: -1, HighOnly: -1, AllowListOnly: -1}}
}

// runIntake measures how fast one node turns a full queue's messages into tasks and acknowledges them. It fails if
// the counts differ.
func runIntake(ctx context.Context, opts Options) (report Report, err error) {
	report.Setting = opts.setting()
	r, err := mountLetters(ctx, opts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for from := 0; from < opts.Tasks; from += BulkSize {
		batch := make([]driver.Message, min(BulkSize, opts.Tasks-from))
		for i := range batch {
			batch[i].Payload = letterPayload(from+i, opts.PayloadBytes)
		}
		if err := errors.Join(r.conn.Send(ctx, r.dead, batch, driver.Limits{})...); err != nil {
			return report, err
		}
	}
	load := Load{Meter: r.meter}
	report.Intake, err = load.Measure(opts.Tasks, func() error {
		if _, err := r.inbox.SaveSource(ctx, deadletters.SourceRequest{Source: deadletters.Source{Name: letterSource,
			Driver: opts.Broker, URL: cmp.Or(opts.BrokerURL, "memory:"), Queue: r.dead,
			Intake: &deadletters.Intake{TaskType: handler, CorrelationID: "/customer"}}}); err != nil {
			return err
		}
		if err := r.until(ctx, func() (int, error) { return int(r.taken.tasks.Load()), nil }, opts.Tasks); err != nil {
			return err
		}
		return r.room(ctx, 0)
	})
	if err != nil {
		return report, fmt.Errorf("intake: %w", err)
	}
	if n, known, letters := r.taken.tasks.Load(), r.taken.known.Load(), r.taken.letters.Load(); n != int64(opts.Tasks) ||
		known+letters > 0 {
		return report, fmt.Errorf("%d messages became %d tasks and %d letters, and %d were known", opts.Tasks, n, letters,
			known)
	}
	report.MaxRSSBytes, err = maxRSS([]int{os.Getpid()})
	return report, err
}
