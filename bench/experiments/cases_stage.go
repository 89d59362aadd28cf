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
	// surveyed is how many tasks a cycle looks at that it has not seen before, at least.
	surveyed = 10_000
)

// kind is what becomes of tasks. It is the version of the template that they are
// of, and the handler of their step.
type kind string

const (
	living  kind = "living"  // goes on for long
	dying   kind = "dying"   // becomes stale
	failing kind = "failing" // is claimed, and fails for good
	waiting kind = "waiting" // for a worker that never comes
	ringed  kind = "ringed"  // its steps wait for each other
)

// Templates: as many names as a filter may have to tell from each other.
const (
	caseTemplates  = 20
	caseNamespaces = 4
)

// templateName spreads tasks over templates and namespaces, in turn.
func templateName(i int) (namespace, name string) {
	return fmt.Sprintf("shop_%d", i%caseNamespaces), fmt.Sprintf("order_%02d", i%caseTemplates)
}

// patientTemplate is of tasks that may take a day.
const patientTemplate = `name: %[2]s
namespace_name: %[1]s
version: %[3]s
lifecycle: {max_steps_in_process_minutes: 1440}
steps:
  - {name: only, handler: %[3]s}
`

// hastyTemplate is of tasks that may take what is usual, whatever is promised to steps.
const hastyTemplate = `name: %[2]s
namespace_name: %[1]s
version: %[3]s
lifecycle: {max_steps_in_process_minutes: 30}
steps:
  - {name: only, handler: %[3]s}
`

// ring is the body of a template that cannot be registered: its steps wait for each other. Databases of older versions
// may have such templates.
const ring = `{"lifecycle":{"MaxWaitingForDependencies":0,"MaxWaitingForRetry":0,"MaxStepsInProcess":0,"MaxDuration":0},"steps":[
 {"name":"hen","handler":"ringed","dependencies":["egg"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}},
 {"name":"egg","handler":"ringed","dependencies":["hen"],"retry":{"Retryable":true,"MaxAttempts":0,"Backoff":"fixed","Base":1000000000,"Max":0,"Jitter":0}}]}`

// stage is an engine in this process without background loops, and its time. Nothing happens on it unless a method
// makes it happen. It is used by one goroutine, except where each spreads calls.
type stage struct {
	run     *run
	now     time.Time // stands still but for pass
	store   engine.Database
	config  settings.Config
	backend *wired.Node // owns the store
	client  *tasker.Client
}

// newStage returns a stage whose time is now.
func newStage(r *run) *stage { return &stage{run: r, now: time.Now().Truncate(time.Millisecond)} }

// clock is the time of the stage, for the engine.
func (s *stage) clock() time.Time { return s.now }

// pass lets time pass. Nothing runs meanwhile.
func (s *stage) pass(d time.Duration) { s.now = s.now.Add(d) }

// passUntil lets time pass until a moment; one in the past changes nothing.
func (s *stage) passUntil(t time.Time) {
	if t.After(s.now) {
		s.now = t
	}
}

const (
	withCases    = settings.On
	withoutCases = settings.Off
)

// open opens the engine on the database of the run, with cases or without. One that is open is closed first.
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

// path is that of the SQLite file.
func (s *stage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(s.run.opts.DB, "sqlite:"), "//")
}

// engine is a second engine on the same store, for the verbs of background loops, which clients do not have.
func (s *stage) engine(ctx context.Context) (*engine.Engine, error) {
	return engine.New(ctx, s.store, engine.Options{Config: s.config, Now: s.clock})
}

// close closes the engine, if it is open.
func (s *stage) close() error {
	if s.backend == nil {
		return nil
	}
	b := s.backend
	s.backend = nil
	return b.Close()
}

// prepare stores the templates.
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

// unused is a template that has no tasks.
const unused = "order_unused"

// storeRings stores what cannot be registered, past Tasker.
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

// tidy leaves tables as they would be found if all had come in the course of those
// hours, with autovacuum behind. SQLite has nothing of the kind.
func (s *stage) tidy(ctx context.Context) error {
	if !bench.IsPostgres(s.run.opts.DB) {
		return nil
	}
	return s.past(ctx, func(exec execute) error {
		return exec(
			`VACUUM (ANALYZE) tasker_tasks, tasker_workflow_steps, tasker_tasks_dlq, tasker_task_watches, tasker_acts`)
	})
}

// execute runs a statement.
type execute func(query string, args ...any) error

// past calls fn with a connection past Tasker, for what its API rightly refuses.
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

// submit submits n tasks of a kind, of all templates in turn, 1,000 a call, while so much time passes on the stage. It
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

// survey lets the detector look at tasks that have become old enough, n of them or a few more. Nothing is stale yet, so
// a dry run does the whole work.
func (s *stage) survey(ctx context.Context, n int) (*bench.Phase, error) {
	return s.run.load.Measure(n, func() error {
		// each call looks at a bounded number
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

// detect runs one cycle that has to find so many stale tasks, and adds what it took.
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
