package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// The steps of the workflow, named as their handlers.
const (
	stepParse    = "parse_record"
	stepFlight   = "check_flight"
	stepNames    = "normalise_names"
	stepPrice    = "price_damage"
	stepSeverity = "assess_severity"
	stepPublish  = "publish_report"

	stepsPerReport = 6
)

// newWorker returns a worker that serves all steps of the demo and nothing else.
func newWorker(client *tasker.Client, opts Options) *worker.Worker {
	w := worker.New(client, &worker.Options{
		Name: "demo", Namespaces: []string{namespace}, Concurrency: opts.Concurrency, Logger: opts.Logger,
		Quiet: true, // the demo reports its many failures itself
	})
	worker.Handle(w, stepParse, func(_ context.Context, row Row) (Strike, error) {
		s, err := parseRecord(row)
		return s, refusal(err)
	})
	worker.Handle(w, stepFlight, check(checkFlight))
	worker.Handle(w, stepNames, check(normaliseNames))
	worker.Handle(w, stepPrice, check(priceDamage))
	worker.Handle(w, stepSeverity, handleSeverity)
	worker.Handle(w, stepPublish, handlePublish)
	return w
}

// check makes the handler of a check from its pure function.
func check[Out any](ask func(Strike) (Out, error)) func(context.Context, Row) (Out, error) {
	return func(ctx context.Context, row Row) (Out, error) {
		var none Out
		s, err := parent[Strike](ctx, stepParse)
		if err != nil {
			return none, err
		}
		if s == nil {
			// parse_record was resolved without a result: use the row.
			parsed, err := parseRecord(row)
			if err != nil {
				return none, refusal(err)
			}
			s = &parsed
		}
		out, err := ask(*s)
		return out, refusal(err)
	}
}

func handleSeverity(ctx context.Context, row Row) (Assessment, error) {
	f, err := parent[Flight](ctx, stepFlight)
	if err != nil {
		return Assessment{}, err
	}
	n, err := parent[Names](ctx, stepNames)
	if err != nil {
		return Assessment{}, err
	}
	p, err := parent[Price](ctx, stepPrice)
	if err != nil {
		return Assessment{}, err
	}
	return assessSeverity(row.Size, f, n, p), nil
}

func handlePublish(ctx context.Context, row Row) (Report, error) {
	a, err := parent[Assessment](ctx, stepSeverity)
	if err != nil {
		return Report{}, err
	}
	if a == nil {
		a = &Assessment{Severity: low}
	}
	return publishReport(row, *a), nil
}

// parent reads the result of a direct dependency, nil without one or for null: an operator may resolve a step
// without a result.
func parent[T any](ctx context.Context, step string) (*T, error) {
	var result *T
	err := worker.JobFrom(ctx).ParentResult(step, &result)
	switch {
	case tasker.ErrorCode(err) == tasker.CodeNotFound:
		return nil, nil
	case err != nil:
		// An operator typed it, so no retry fixes it.
		return nil, worker.NonRetryable(fmt.Errorf("read result of %s: %w", step, err))
	}
	return result, nil
}

// refusal makes dirt a permanent failure with details for an operator. Other errors pass.
func refusal(err error) error {
	var d *dirt
	if !errors.As(err, &d) {
		return err
	}
	details, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode details of record %d: %w", d.Record, err)
	}
	return worker.NonRetryable(&tasker.Failure{
		Type: string(d.Kind), Code: d.Code, Message: d.Message, Details: details,
	})
}
