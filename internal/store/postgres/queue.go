package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Ready implements engine.Tx. It does not query routes known to be empty: steps that another process queues there
// arrive as a peer event, or are found by the regular read of all routes with waiters. It skips locked steps, so two
// claims never wait for each other and never get the same step.
func (t *tx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	if !t.doubting {
		routes = t.store.routes.occupiedOf(routes, t.begin, t.queued)
	}
	t.doubting = false
	if len(routes) == 0 || limit <= 0 {
		return nil, nil
	}
	asked := t.store.Now()
	spans, whole := t.store.routes.spans(routes, asked)
	works, read, err := t.ready(ctx, routes, spans, limit)
	if err != nil {
		return nil, err
	}
	if whole {
		t.store.routes.noteSweep(routes, t.store.Now().Sub(asked))
	}
	if len(works) > 0 { // their routes and templates are known from memory
		t.expectPulse()
	}
	found := heads(works) // before the caller changes them
	full := len(works) == limit
	t.after = append(t.after, func() { t.noteReady(read, found, full, asked) })
	return works, nil
}

// Doubt implements engine.Tx. It concerns queues seen empty; steps below a floor are still found by the next sweep.
func (t *tx) Doubt() { t.doubting = true }

// ready reads the lowest keys of the routes, up to limit. If there are fewer, read are the exhausted routes: those
// whose unlocked steps are all in works.
func (t *tx) ready(ctx context.Context, routes []int64, spans []span,
	limit int,
) (works []engine.Work, read []int64, err error) {
	if len(routes) == 1 {
		works, err = t.readyOfOne(ctx, spans, limit)
		return works, routes, err
	}
	works, seen, err := t.readyOfMany(ctx, spans, limit)
	if err != nil || len(works) == limit || 0 < seen && seen < limit {
		return works, routes, err
	}
	// The lowest keys of all routes are on a few of them, and locked by another claim. The other routes follow one
	// after the other.
	gave := map[int64]bool{}
	for _, w := range works {
		gave[w.Step.Queue] = true
	}
	rest := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return gave[s.queue] })
	if len(rest) == 0 {
		return works, nil, nil
	}
	more, err := t.readyOfOne(ctx, rest, limit-len(works))
	read = slices.DeleteFunc(slices.Clone(routes), func(r int64) bool { return gave[r] })
	return share(append(works, more...)), read, err
}

// readyHead is the condition and order of one span; a LIMIT follows.
const (
	readyHead  = `s.queue = r.queue AND s.key >= r.low AND s.key <= r.high ORDER BY s.key, s.id LIMIT `
	readySpans = `unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS r(queue, low, high, n)`
	readySteps = `SELECT ` + store.StepColumns + `, s.xmin AS version FROM tasker_workflow_steps s WHERE ` + readyHead
	readyWork  = `SELECT ` + store.StepColumns + `, s.version, ` + store.TaskColumns + `, t.xmin`
)

// readyOfOne reads along the index, no further than needed: the spans of one route follow one another. Spans of several
// routes are read route after route.
func (t *tx) readyOfOne(ctx context.Context, spans []span, limit int) ([]engine.Work, error) {
	const query = readyWork + ` FROM (SELECT s.* FROM ` + readySpans + `, LATERAL (` + readySteps +
		`$4 FOR UPDATE SKIP LOCKED) s LIMIT $4) s
 JOIN tasker_tasks t ON t.id = s.task_id`
	ids, lows, highs := columns(spans)
	return t.readyBy(ctx, query, []any{ids, lows, highs, limit}, func(r store.Row) store.Row { return r })
}

// readyOfMany finds the spans of the lowest keys and their number in each, and takes that number from each: further
// along where some are locked. Seen counts found steps, with locked ones, up to limit; 0 if there was nothing to take.
func (t *tx) readyOfMany(ctx context.Context, spans []span, limit int) (works []engine.Work, seen int, err error) {
	const query = readyWork + `, share.seen FROM (SELECT h.n, count(*) AS take, sum(count(*)) OVER ()::bigint AS seen FROM
 (SELECT r.n FROM ` + readySpans + `, LATERAL (SELECT s.key, s.id FROM tasker_workflow_steps s
  WHERE ` + readyHead + `$4) s
 ORDER BY s.key, s.id LIMIT $4) h GROUP BY h.n) share JOIN ` + readySpans + ` ON r.n = share.n,
  LATERAL (` + readySteps + `share.take FOR UPDATE SKIP LOCKED) s
 JOIN tasker_tasks t ON t.id = s.task_id`
	ids, lows, highs := columns(spans)
	works, err = t.readyBy(ctx, query, []any{ids, lows, highs, limit}, func(r store.Row) store.Row {
		return counted{r, &seen}
	})
	return works, seen, err
}

func (t *tx) readyBy(ctx context.Context, query string, args []any,
	wrap func(store.Row) store.Row,
) ([]engine.Work, error) {
	works := make([]engine.Work, 0, 16)
	err := t.ask(ctx, query, args, func(r store.Row) error {
		w, err := t.scanWork(wrap(r))
		works = append(works, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return share(works), nil
}

// counted is a row with a number after its last column. n gets the same number from every row.
type counted struct {
	store.Row
	n *int
}

func (c counted) Scan(dest ...any) error { return c.Row.Scan(append(dest, c.n)...) }

type head struct {
	id     task.ID
	queue  int64
	key    int64
	stream int64
}

func heads(works []engine.Work) []head {
	list := make([]head, len(works))
	for i, w := range works {
		list[i] = head{w.Step.ID, w.Step.Queue, w.Step.Key, streamOf(w.Step)}
	}
	return list
}

// noteReady updates the queues after a read. Unless the read was full, it returned every step on its routes; a step
// that was left bounds the keys that later reads of its route may skip. It runs after the commit: a rollback takes
// nothing.
func (t *tx) noteReady(read []int64, found []head, full bool, asked time.Time) {
	left := map[int64]bool{}
	type stream struct{ queue, stream int64 }
	passed := map[stream]int64{}
	for _, h := range found {
		if s := t.steps[h.id]; s == nil || !s.saved || s.row.Queue == h.queue {
			left[h.queue] = true
		}
		if !left[h.queue] {
			passed[stream{h.queue, h.stream}] = h.key
		}
	}
	for of, key := range passed {
		t.store.routes.noteTaken(of.queue, of.stream, key, asked)
	}
	if !full {
		t.store.routes.noteEmpty(slices.DeleteFunc(slices.Clone(read), func(r int64) bool { return left[r] }), asked)
	}
}

// Vacant implements engine.Tx. It answers from memory; another process may have queued a step meanwhile. A wrong
// "vacant" only delays a step until the next regular read.
func (t *tx) Vacant(ctx context.Context, route int64) (bool, error) {
	if _, ok := t.queued[route]; ok {
		return false, nil
	}
	return t.store.routes.isVacant(route, t.begin), nil
}

// Due implements engine.Tx. It locks the steps and skips locked ones.
func (t *tx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	const query = ` FROM (SELECT s.*, s.xmin AS version FROM tasker_workflow_steps s WHERE s.queue = $1 AND s.key >= $2
  AND s.key <= $3
 ORDER BY s.key, s.id LIMIT $4 FOR UPDATE SKIP LOCKED) s JOIN tasker_tasks t ON t.id = s.task_id`
	asked := t.store.Now()
	low, whole := t.store.routes.floor(queue, asked)
	works, err := t.works(ctx, query, []any{queue, low, int64(until), limit}, true)
	if err != nil {
		return nil, err
	}
	if whole {
		t.store.routes.noteSweep([]int64{queue}, t.store.Now().Sub(asked))
	}
	if len(works) < limit {
		t.after = append(t.after, func() { t.store.routes.noteTaken(queue, 0, int64(until.Add(-lateness)), asked) })
	}
	return works, nil
}

// Between implements engine.Tx. It skips locked steps: a claim has just taken them.
func (t *tx) Between(ctx context.Context, route int64, after engine.Position, upTo int64,
	limit int,
) ([]*task.Step, error) {
	query := `SELECT ` + stepColumns + ` FROM tasker_workflow_steps s
 WHERE s.queue = $1 AND (s.key, s.id) > ($2, $3::uuid) AND s.key <= $4 ORDER BY s.key, s.id LIMIT $5
  FOR UPDATE SKIP LOCKED`
	var steps []*task.Step
	err := t.ask(ctx, query, []any{route, after.Key, after.ID, upTo, limit}, func(r store.Row) error {
		var versions [2]uint32
		s, err := t.sql.ScanStep(versioned{r, &versions, false})
		if err == nil {
			steps = append(steps, t.noteStep(s, versions[0]))
		}
		return err
	})
	return steps, err
}

// lateness bounds how long before now a caller's time may lie. A key below the floor by more would be missed until the
// queue is read from its start.
const lateness = 5 * time.Second

// Held implements engine.Tx. It does not lock: the version of each row is checked when it is saved.
func (t *tx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	const query = ` FROM (SELECT s.*, s.xmin AS version FROM tasker_workflow_steps s WHERE s.queue = -2
  AND s.worker_no = $1
 ORDER BY s.key, s.id LIMIT $2) s JOIN tasker_tasks t ON t.id = s.task_id`
	return t.works(ctx, query, []any{worker, limit}, false)
}

// works reads steps with their tasks, lowest key first. careful: from has already locked the steps.
func (t *tx) works(ctx context.Context, from string, args []any, careful bool) ([]engine.Work, error) {
	const columns = `SELECT ` + store.StepColumns + `, s.version, `
	var works []engine.Work
	err := t.ask(ctx, columns+taskColumns+from+t.lock(lockTask(careful)), args, func(r store.Row) error {
		w, err := t.scanWork(r)
		works = append(works, w)
		return err
	})
	return share(works), err
}

func lockTask(stepsLocked bool) string {
	if stepsLocked {
		return ` FOR UPDATE OF t`
	}
	return ``
}

// share makes steps of one task share it, and sorts them by key: joins and lateral queries do not keep an order.
func share(works []engine.Work) []engine.Work {
	store.ShareTasks(works)
	slices.SortFunc(works, func(a, b engine.Work) int {
		return cmp.Or(cmp.Compare(a.Step.Key, b.Step.Key), slices.Compare(a.Step.ID[:], b.Step.ID[:]))
	})
	return works
}
