package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/engine"
	wired "github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/operate"
)

const (
	arrivals  = 3 * time.Minute
	threshold = 30 * time.Minute // of hastyTemplate
	lookedAt  = threshold / 100 * 85
	// surveyed is the minimal number of new tasks that a cycle looks at.
	surveyed = 10_000
)

// kind is the fate of tasks, and the version of their template, and the handler of their step.
type kind string

const (
	living  kind = "living" // lives long
	dying   kind = "dying"  // becomes stale
	failing kind = "failing"
	waiting kind = "waiting" // for a worker that never comes
	ringed  kind = "ringed"  // its steps wait for each other
)

// Templates: many names for filters.
const (
	caseTemplates  = 20
	caseNamespaces = 4
)

func templateName(i int) (namespace, name string) {
	return fmt.Sprintf("shop_%d", i%caseNamespaces), fmt.Sprintf("order_%02d", i%caseTemplates)
}

// patientTemplate allows a day.
const patientTemplate = `name: %[2]s
namespace_name: %[1]s
version: %[3]s
lifecycle: {max_steps_in_process_minutes: 1440}
steps:
  - {name: only, handler: %[3]s}
`

// hastyTemplate has the default threshold, regardless of promises.
const hastyTemplate = `name: %[2]s
namespace_name: %[1]s
version: %[3]s
lifecycle: {max_steps_in_process_minutes: 30}
steps:
  - {name: only, handler: %[3]s}
`

// ring cannot be registered: its steps wait for each other. Databases of older versions may have such templates.
const ring = `{"lifecycle":{"MaxWaitingForDependencies":0,"MaxWaitingForRetry":0,"MaxStepsInProcess":0,"MaxDuration":0},"steps":[
 {"name":"hen","handler":"ringed","dependencies":["egg"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}},
 {"name":"egg","handler":"ringed","dependencies":["hen"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}}]}`

// stage is an engine without background loops and with a manual clock. One goroutine uses it, except where each spreads
// calls.
type stage struct {
	run     *run
	now     time.Time // advanced by pass only
	store   engine.Database
	config  settings.Config
	backend *wired.Node // owns the store
	client  *tasker.Client
}

func newStage(r *run) *stage { return &stage{run: r, now: time.Now().Truncate(time.Millisecond)} }

// clock is the time of the stage, for the engine.
func (s *stage) clock() time.Time { return s.now }

func (s *stage) pass(d time.Duration) { s.now = s.now.Add(d) }

func (s *stage) passUntil(t time.Time) {
	if t.After(s.now) {
		s.now = t
	}
}

const (
	withCases    = settings.On
	withoutCases = settings.Off
)

// open opens the engine on the run's database, with or without cases. It closes an open one first.
func (s *stage) open(ctx context.Context, cases settings.Switch) error {
	if err := s.close(); err != nil {
		return err
	}
	var err error
	if bench.IsPostgres(s.run.opts.DB) {
		s.store, err = postgres.Open(ctx, s.run.opts.DB, nil)
	} else {
		s.store, err = sqlite.Open(ctx, s.path(), nil)
	}
	if err != nil {
		return err
	}
	s.config = settings.Config{Cases: settings.Cases{Enabled: cases}}
	b, err := wired.New(ctx, s.store, wired.Options{Engine: s.config, Now: s.clock})
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	s.backend, s.client = b, tasker.NewClient(b)
	return nil
}

func (s *stage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(s.run.opts.DB, "sqlite:"), "//")
}

// engine is a second engine on the same store, for the verbs of background loops.
func (s *stage) engine(ctx context.Context) (*engine.Engine, error) {
	return engine.New(ctx, s.store, engine.Options{Config: s.config, Now: s.clock})
}

func (s *stage) close() error {
	if s.backend == nil {
		return nil
	}
	b := s.backend
	s.backend = nil
	return b.Close()
}

func (s *stage) prepare(ctx context.Context) error {
	if err := s.storeRings(ctx); err != nil {
		return err
	}
	if err := s.open(ctx, withCases); err != nil {
		return err
	}
	for i := range caseTemplates {
		namespace, name := templateName(i)
		for k, text := range map[kind]string{living: patientTemplate, dying: hastyTemplate, failing: patientTemplate,
			waiting: patientTemplate} {
			yaml := fmt.Sprintf(text, namespace, name, k)
			if _, err := s.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: yaml}); err != nil {
				return err
			}
		}
	}
	_, err := s.client.RegisterTemplate(ctx,
		tasker.TemplateSource{YAML: fmt.Sprintf(patientTemplate, "shop_0", unused, living)})
	return err
}

const unused = "order_unused"

// storeRings bypasses the registration.
func (s *stage) storeRings(ctx context.Context) error {
	const query = `INSERT INTO tasker_templates (namespace, name, version, adhoc, fingerprint, created_at, source, body)
 VALUES ($1, $2, $3, 0, '', 1, '', $4)`
	return s.past(ctx, func(exec execute) error {
		for i := range caseTemplates {
			namespace, name := templateName(i)
			if err := exec(query, namespace, name, string(ringed), ring); err != nil {
				return err
			}
		}
		return nil
	})
}

// tidy vacuums tables as autovacuum would have done over those hours; SQLite needs nothing.
func (s *stage) tidy(ctx context.Context) error {
	if !bench.IsPostgres(s.run.opts.DB) {
		return nil
	}
	return s.past(ctx, func(exec execute) error {
		return exec(
			`VACUUM (ANALYZE) tasker_tasks, tasker_workflow_steps, tasker_tasks_dlq, tasker_task_watches, tasker_acts`)
	})
}

type execute func(query string, args ...any) error

func (s *stage) past(ctx context.Context, fn func(execute) error) error {
	if bench.IsPostgres(s.run.opts.DB) {
		conn, err := connectSession(ctx, s.run.opts.DB)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		return fn(func(query string, args ...any) error {
			_, err := conn.Exec(ctx, query, args...)
			return err
		})
	}
	db, err := sql.Open("sqlite", s.path())
	if err != nil {
		return err
	}
	err = fn(func(query string, args ...any) error {
		_, err := db.ExecContext(ctx, query, args...)
		return err
	})
	return errors.Join(err, db.Close())
}

// submit submits n tasks of a kind, over all templates in turn, 1,000 a call, while the clock advances by while. It
// returns their IDs.
func (s *stage) submit(ctx context.Context, k kind, n int, while time.Duration) ([]uuid.UUID, error) {
	body := bench.Payload(s.run.opts.PayloadBytes)
	ids := make([]uuid.UUID, 0, n)
	for len(ids) < n {
		req := tasker.SubmitRequest{Tasks: make([]tasker.TaskRequest, min(bench.BulkSize, n-len(ids)))}
		for i := range req.Tasks {
			namespace, name := templateName(len(ids) + i)
			req.Tasks[i] = tasker.TaskRequest{Namespace: namespace, Name: name, Version: string(k), Context: body}
		}
		receipts, err := s.client.SubmitTasks(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, r := range receipts {
			ids = append(ids, r.TaskUUID)
		}
		s.pass(while * time.Duration(len(receipts)) / time.Duration(n))
	}
	return ids, nil
}

// survey makes the detector look at about n tasks that are old enough. Nothing is stale, so a dry run does the whole
// work.
func (s *stage) survey(ctx context.Context, n int) (*bench.Phase, error) {
	return s.run.load.Measure(n, func() error {
		// Each call looks at a bounded number.
		for range n/surveyed + 2 {
			found, err := operate.Of(s.client).DetectStaleness(ctx, operate.DetectRequest{DryRun: true})
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return fmt.Errorf("%d tasks are stale already", len(found))
			}
		}
		return nil
	})
}

// detect runs one cycle, which must find so many stale tasks, and adds its time.
func (s *stage) detect(ctx context.Context, stale int, took []time.Duration) ([]time.Duration, error) {
	begin := time.Now()
	found, err := operate.Of(s.client).DetectStaleness(ctx, operate.DetectRequest{BatchSize: max(stale, bench.BulkSize)})
	if err != nil {
		return nil, err
	}
	took = append(took, time.Since(begin))
	if len(found) != stale {
		return nil, fmt.Errorf("%d tasks were found to be stale, not %d", len(found), stale)
	}
	for _, d := range found {
		if !d.TransitionSuccess {
			return nil, fmt.Errorf("stale task %s was not put in error: %s", d.TaskUUID, d.ActionTaken)
		}
	}
	return took, nil
}
