package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Run registers the workflow, runs a worker in this process, submits the reports and returns their results when all
// have settled.
//
// It blocks. It may run repeatedly on one Backend: every run has its own correlation ID and counts only its own
// tasks. Dirty reports are no error; after an error the Summary has what is known.
func Run(ctx context.Context, client *tasker.Client, opts Options) (Summary, error) {
	opts = opts.withDefaults()
	rows, err := Rows()
	if err != nil {
		return Summary{}, err
	}
	if opts.Records > 0 && opts.Records < len(rows) {
		rows = rows[:opts.Records]
	}
	if _, err := client.RegisterTemplate(ctx, TemplateSource()); err != nil {
		return Summary{}, fmt.Errorf("register template %s: %w", templateName, err)
	}
	r := run{
		client: client, opts: opts, rows: rows, correlationID: "demo-" + uuid.NewString(),
	}
	r.seen = observe(protocol.Of(client), r.correlationID, stepPublish)
	return r.work(ctx)
}

// Work runs the demo's steps until ctx ends, and then drains, so that repaired reports continue.
func Work(ctx context.Context, client *tasker.Client, opts Options) error {
	return newWorker(client, opts.withDefaults()).Run(ctx)
}

// TemplateSource returns the demo's workflow source.
func TemplateSource() tasker.TemplateSource {
	return tasker.TemplateSource{YAML: strikeReportYAML, Filename: "strike_report.yaml"}
}

type run struct {
	client        *tasker.Client
	opts          Options
	rows          []Row
	correlationID string
	seen          *observer
	started       time.Time
	got           receipts
}

func (r *run) work(ctx context.Context) (Summary, error) {
	workerCtx, stop := context.WithCancel(ctx)
	defer stop()
	runCtx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	ended := make(chan error, 1)
	go func() {
		err := Work(workerCtx, tasker.NewClient(r.seen), r.opts)
		if workerCtx.Err() == nil {
			// Without a worker nothing would settle.
			giveUp(fmt.Errorf("work on the demo: %w", errors.Join(errWorkerEnded, err)))
		}
		ended <- err
	}()
	sum, err := r.carryOut(runCtx)
	if err != nil && context.Cause(runCtx) != nil {
		err = context.Cause(runCtx)
	}
	stop()
	if werr := <-ended; werr != nil && err == nil && !errors.Is(werr, context.Canceled) {
		err = fmt.Errorf("stop the demo's worker: %w", werr)
	}
	return sum, err
}

var errWorkerEnded = errors.New("the worker has ended before the work")

// carryOut submits, waits and summarises; after an error it returns what is known.
func (r *run) carryOut(ctx context.Context) (Summary, error) {
	r.started = time.Now()
	var err error
	if r.got, err = submit(ctx, r.client, r.correlationID, r.rows, r.opts.Batch); err != nil {
		return Summary{}, err
	}
	bar := newProgress(r.opts, r.started)
	settled, err := r.wait(ctx, bar)
	seconds := time.Since(r.started).Seconds()
	bar.finish(time.Now(), r.seen.counts(), len(r.got.accepted))
	if err != nil {
		return r.summary(settled, seconds), err
	}
	sum := r.summary(settled, seconds)
	sum.Failures, err = failures(ctx, r.client, settled)
	return sum, err
}
