package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

const gateDefinition = `gate, namespace, name, key, permits, rate_count, rate_per_us, rate_burst, rev`

const gateColumns = gateDefinition + `, bucket, next_at`

var (
	insertSignals = bulkOf(`INSERT INTO tasker_limit_signals (`+gateDefinition+`)`, "ntttnnnnn", ``)
	insertGates   = bulkOf(`INSERT INTO tasker_limit_gates (`+gateColumns+`)`, "ntttnnnnnnn", ` ON CONFLICT DO NOTHING`)
	lockGates     = bulkOf(`SELECT `+qualified+` FROM (`, "n", `) AS v JOIN tasker_limit_gates g ON g.gate = v.column1
 ORDER BY g.gate`)
	updateGates = bulkOf(`UPDATE tasker_limit_gates SET permits = v.column2, rate_count = v.column3,
 rate_per_us = v.column4, rate_burst = v.column5, rev = v.column6, bucket = v.column7, next_at = v.column8 FROM (`,
		"nnnnnnnn", `) AS v WHERE tasker_limit_gates.gate = v.column1`)
	refundGates = bulkOf(`UPDATE tasker_limit_gates SET bucket = tasker_limit_gates.bucket - v.column2 FROM (`, "nn",
		`) AS v WHERE tasker_limit_gates.gate = v.column1`)
	deletePass = bulkOf(`DELETE FROM tasker_limit_permits WHERE (gate, step_id) IN (SELECT v.column1, v.column2 FROM (`,
		"ni", `) AS v)`)
	countPermits = bulkOf(`SELECT p.gate, count(*) FROM (`, "n", `) AS v JOIN tasker_limit_permits p ON p.gate = v.column1
 GROUP BY p.gate`)
	insertPermits = bulkOf(`INSERT INTO tasker_limit_permits (gate, step_id)`, "ni", ` ON CONFLICT DO NOTHING`)
	// the signal of freed permits has their number in the column of permits
	signalPermits = bulkOf(`INSERT INTO tasker_limit_signals (`+gateDefinition+`) SELECT p.gate, '', '', '', count(*), 0,
 0, 0, 0 FROM tasker_limit_permits p WHERE p.gate > 0 AND p.step_id IN (SELECT v.column1 FROM (`, "i", `) AS v)
 GROUP BY p.gate`)
	deletePermits = bulkOf(`DELETE FROM tasker_limit_permits WHERE step_id IN (SELECT v.column1 FROM (`, "i", `) AS v)`)
	signalPasses  = bulkOf(`INSERT INTO tasker_limit_signals (`+gateDefinition+`) SELECT p.gate, '', '', '', count(*), 0,
 0, 0, 0 FROM tasker_limit_permits p JOIN tasker_limit_gates g ON g.gate = p.gate AND g.permits = 0
 WHERE p.step_id IN (SELECT v.column1 FROM (`, "i", `) AS v) GROUP BY p.gate`)
	deletePasses = bulkOf(`DELETE FROM tasker_limit_permits WHERE step_id IN (SELECT v.column1 FROM (`, "i", `) AS v)
 AND gate IN (SELECT p.gate FROM tasker_limit_permits p JOIN tasker_limit_gates g ON g.gate = p.gate AND g.permits = 0
 WHERE p.step_id = tasker_limit_permits.step_id)`)
	countPasses = bulkOf(`SELECT v.column1, (SELECT count(*) FROM tasker_limit_permits p WHERE p.gate = v.column1)
 + coalesce(f.n, 0) FROM (`, "n", `) AS v LEFT JOIN (SELECT s.gate, CAST(sum(s.permits) AS bigint) AS n
 FROM tasker_limit_signals s WHERE s.namespace = '' GROUP BY s.gate) AS f ON f.gate = v.column1`)
	// Locked steps, and those with locked tasks, are skipped: a caller's own transaction may hold them for long.
	firstParked = bulkOf(`SELECT v.column1, s.id FROM (`, "nnn", `) AS v CROSS JOIN LATERAL (SELECT s.id
 FROM tasker_workflow_steps s JOIN tasker_tasks t ON t.id = s.task_id WHERE s.queue = v.column2 ORDER BY s.key, s.id
 LIMIT v.column3 FOR UPDATE OF s, t SKIP LOCKED) AS s`)
)

const qualified = `g.gate, g.namespace, g.name, g.key, g.permits, g.rate_count, g.rate_per_us, g.rate_burst, g.rev,
 g.bucket, g.next_at`

// GateStore implements engine.Database.
func (s SQL) GateStore() engine.GateStore { return s }

func definitionOf(g engine.Gate) []any {
	return []any{g.No, g.Namespace, g.Name, g.Key, int64(g.Permits), int64(g.Rate.Count), g.Rate.Per.Microseconds(),
		int64(g.Rate.Burst), g.Rev}
}

func scanDefinition(row Row, more ...any) (g engine.Gate, err error) {
	var per int64
	err = row.Scan(append([]any{&g.No, (*Text)(&g.Namespace), (*Text)(&g.Name), (*Text)(&g.Key), &g.Permits,
		&g.Rate.Count, &per, &g.Rate.Burst, &g.Rev}, more...)...)
	g.Rate.Per = time.Duration(per) * time.Microsecond
	return g, err
}

func scanGate(row Row) (engine.Gate, error) {
	var bucket, next int64
	g, err := scanDefinition(row, &bucket, &next)
	g.Bucket, g.NextAt = limit.Bucket(bucket), task.Instant(next)
	return g, err
}

// Signal implements engine.GateRows.
func (SQL) Signal(ctx context.Context, tx engine.Tx, gates []engine.Gate) error {
	rows := make([][]any, len(gates))
	for i, g := range gates {
		rows[i] = definitionOf(g)
	}
	return insertSignals.send(ctx, In(tx), rows)
}

// TakeSignals implements engine.GateRows.
func (SQL) TakeSignals(ctx context.Context, tx engine.Tx, now task.Instant, limit int) ([]engine.Gate, int, error) {
	s := In(tx)
	lock := ""
	if s.Lock != "" {
		lock = " " + s.Lock + " SKIP LOCKED"
	}
	signals, err := collect(ctx, s, func(row Row) (engine.Gate, error) { return scanDefinition(row) },
		`DELETE FROM tasker_limit_signals WHERE id IN (SELECT id FROM tasker_limit_signals ORDER BY id LIMIT $1`+lock+
			`) RETURNING `+gateDefinition, limit)
	if err != nil {
		return nil, 0, err
	}
	due, err := collect(ctx, s, scanInt, `SELECT gate FROM tasker_limit_gates WHERE next_at > 0 AND next_at <= $1
 ORDER BY next_at LIMIT $2`, int64(now), limit)
	if err != nil {
		return nil, 0, err
	}
	defined := map[int64]engine.Gate{}
	nos, freed := due, map[int64]int{}
	for _, g := range signals {
		nos = append(nos, g.No)
		if g.Namespace == "" {
			freed[g.No] += g.Permits
		}
		if was, ok := defined[g.No]; g.Namespace != "" && (!ok || was.Rev < g.Rev) {
			defined[g.No] = g
		}
	}
	slices.Sort(nos)
	gates, err := s.openGates(ctx, slices.Compact(nos), defined)
	for i := range gates {
		gates[i].Freed = freed[gates[i].No]
	}
	return gates, len(signals), err
}

// openGates creates missing gates, and returns all of them, locked and as now defined.
func (s SQL) openGates(ctx context.Context, nos []int64, defined map[int64]engine.Gate) ([]engine.Gate, error) {
	var rows, missing [][]any
	for _, no := range nos {
		rows = append(rows, []any{no})
		if g, ok := defined[no]; ok {
			missing = append(missing, append(definitionOf(g), int64(0), int64(0)))
		}
	}
	if err := insertGates.send(ctx, s, missing); err != nil {
		return nil, err
	}
	lock := ""
	if s.Lock != "" {
		lock = " " + s.Lock + " OF g"
	}
	var gates []engine.Gate
	err := lockGates.run(s.Dialect, rows, func(query string, args []any) error {
		some, err := collect(ctx, s, scanGate, query+lock, args...)
		gates = append(gates, some...)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, g := range gates {
		if d, ok := defined[g.No]; ok && d.Rev > g.Rev {
			gates[i].Permits, gates[i].Rate, gates[i].Rev = d.Permits, d.Rate, d.Rev
		}
		delete(defined, g.No)
	}
	var gone [][]any // deleted as idle between the two statements: created next time
	for _, d := range defined {
		gone = append(gone, definitionOf(d))
	}
	return gates, insertSignals.send(ctx, s, gone)
}

// SaveGates implements engine.GateRows.
func (SQL) SaveGates(ctx context.Context, tx engine.Tx, gates []engine.Gate) error {
	rows := make([][]any, len(gates))
	for i, g := range gates {
		rows[i] = []any{g.No, int64(g.Permits), int64(g.Rate.Count), g.Rate.Per.Microseconds(), int64(g.Rate.Burst), g.Rev,
			int64(g.Bucket), int64(g.NextAt)}
	}
	return updateGates.send(ctx, In(tx), rows)
}

// FirstParked implements engine.GateRows.
func (SQL) FirstParked(ctx context.Context, tx engine.Tx, rooms []engine.GateRoom) ([]engine.Permit, error) {
	s := In(tx)
	scan := func(row Row) (p engine.Permit, err error) {
		err = row.Scan(&p.Gate, s.ScanID(&p.Step))
		return p, err
	}
	if s.Lock != "" {
		rows := make([][]any, len(rooms))
		for i, r := range rooms {
			rows[i] = []any{r.Gate, task.ParkedLimit(r.Gate), int64(r.Steps)}
		}
		var all []engine.Permit
		err := firstParked.run(s.Dialect, rows, func(query string, args []any) error {
			some, err := collect(ctx, s, scan, query, args...)
			all = append(all, some...)
			return err
		})
		return all, err
	}
	var all []engine.Permit
	for _, r := range rooms {
		some, err := collect(ctx, s, scan, `SELECT $1, id FROM tasker_workflow_steps WHERE queue = $2
 ORDER BY key, id LIMIT $3`, r.Gate, task.ParkedLimit(r.Gate), r.Steps)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

type gateCount struct {
	gate int64
	n    int
}

// CountPermits implements engine.GateRows.
func (SQL) CountPermits(ctx context.Context, tx engine.Tx, gates []int64) (map[int64]int, error) {
	return In(tx).countPermits(ctx, gates)
}

// CountPasses implements engine.GateRows.
func (SQL) CountPasses(ctx context.Context, tx engine.Tx, gates []int64) (map[int64]int, error) {
	return In(tx).countOf(ctx, countPasses, gates)
}

func (s SQL) countPermits(ctx context.Context, gates []int64) (map[int64]int, error) {
	return s.countOf(ctx, countPermits, gates)
}

func (s SQL) countOf(ctx context.Context, statement bulk, gates []int64) (map[int64]int, error) {
	rows := make([][]any, len(gates))
	for i, no := range gates {
		rows[i] = []any{no}
	}
	out := map[int64]int{}
	err := statement.run(s.Dialect, rows, func(query string, args []any) error {
		some, err := collect(ctx, s, func(row Row) (c gateCount, err error) {
			err = row.Scan(&c.gate, &c.n)
			return c, err
		}, query, args...)
		for _, c := range some {
			out[c.gate] = c.n
		}
		return err
	})
	return out, err
}

// AddPermits implements engine.GateRows.
func (SQL) AddPermits(ctx context.Context, tx engine.Tx, permits []engine.Permit) error {
	s := In(tx)
	rows := make([][]any, len(permits))
	for i, p := range permits {
		rows[i] = []any{p.Gate, s.id(p.Step)}
	}
	return insertPermits.send(ctx, s, rows)
}

// FreePermits implements engine.GateRows.
func (SQL) FreePermits(ctx context.Context, tx engine.Tx, steps []task.ID) error {
	s := In(tx)
	rows := s.idRows(steps)
	if err := signalPermits.send(ctx, s, rows); err != nil {
		return err
	}
	return deletePermits.send(ctx, s, rows)
}

// FreePasses implements engine.GateRows.
func (SQL) FreePasses(ctx context.Context, tx engine.Tx, steps []task.ID) error {
	s := In(tx)
	rows := s.idRows(steps)
	if err := signalPasses.send(ctx, s, rows); err != nil {
		return err
	}
	return deletePasses.send(ctx, s, rows)
}

// Refund implements engine.GateRows.
func (SQL) Refund(ctx context.Context, tx engine.Tx, passes []engine.Pass) error {
	s, costs := In(tx), map[int64]int64{}
	permits := make([][]any, len(passes))
	for i, p := range passes {
		permits[i] = []any{p.Gate, s.id(p.Step)}
		costs[p.Gate] += int64(p.Cost)
	}
	var gates []engine.Gate
	var rows [][]any
	for _, no := range slices.Sorted(maps.Keys(costs)) {
		gates, rows = append(gates, engine.Gate{No: no}), append(rows, []any{no, costs[no]})
	}
	if err := refundGates.send(ctx, s, rows); err != nil {
		return err
	}
	if err := deletePass.send(ctx, s, permits); err != nil {
		return err
	}
	return s.Signal(ctx, tx, gates)
}

// Signalled implements engine.GateReads.
func (s SQL) Signalled(ctx context.Context, now task.Instant) (bool, error) {
	n, err := first(ctx, s, scanInt, `SELECT CASE WHEN EXISTS (SELECT 1 FROM tasker_limit_signals)
 OR EXISTS (SELECT 1 FROM tasker_limit_gates WHERE next_at > 0 AND next_at <= $1) THEN 1 ELSE 0 END`, int64(now))
	return n == 1, err
}

// NextGate implements engine.GateReads.
func (s SQL) NextGate(ctx context.Context) (task.Instant, error) {
	next, err := collect(ctx, s, scanInt, `SELECT next_at FROM tasker_limit_gates WHERE next_at > 0
 ORDER BY next_at LIMIT 1`)
	if err != nil || len(next) == 0 {
		return 0, err
	}
	return task.Instant(next[0]), nil
}

// CountParked implements engine.GateReads.
func (s SQL) CountParked(ctx context.Context, limit int) (int, error) {
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_workflow_steps WHERE queue < $1
 LIMIT $2) AS q`, task.ParkedLimit(1)+1, limit)
	return int(n), err
}

// FindGate implements engine.GateReads.
func (s SQL) FindGate(ctx context.Context, no int64) (*engine.Gate, error) {
	list, err := collect(ctx, s, scanGate, `SELECT `+gateColumns+` FROM tasker_limit_gates WHERE gate = $1`, no)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// ListGates implements engine.GateReads.
func (s SQL) ListGates(ctx context.Context, f engine.GateFilter) ([]engine.GateView, error) {
	w := where{}
	w.add("gate > ?", f.Behind)
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.Name != "", "name = ?", f.Name)
	gates, err := collect(ctx, s, scanGate, `SELECT `+gateColumns+` FROM tasker_limit_gates`+w.text()+
		` ORDER BY gate LIMIT `+w.arg(cmp.Or(f.Limit, 100)), w.args...)
	if err != nil {
		return nil, err
	}
	nos, views := make([]int64, len(gates)), make([]engine.GateView, len(gates))
	for i, g := range gates {
		nos[i], views[i].Gate = g.No, g
	}
	held, err := s.countPermits(ctx, nos)
	if err != nil {
		return nil, err
	}
	for i := range views {
		views[i].Held = held[views[i].No]
		n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 AS one FROM tasker_workflow_steps WHERE queue = $1
 LIMIT $2) AS q`, task.ParkedLimit(views[i].No), cmp.Or(f.Counted, 1000))
		if err != nil {
			return nil, err
		}
		views[i].Waiting = int(n)
	}
	return views, nil
}

// Holders implements engine.GateReads.
func (s SQL) Holders(ctx context.Context, gate int64, limit int) ([]task.ID, error) {
	return collect(ctx, s, s.scanID, `SELECT DISTINCT s.task_id FROM tasker_limit_permits p
 JOIN tasker_workflow_steps s ON s.id = p.step_id WHERE p.gate = $1 ORDER BY s.task_id LIMIT $2`, gate, limit)
}

// PermitsOf implements engine.GateReads.
func (s SQL) PermitsOf(ctx context.Context, step task.ID) ([]int64, error) {
	return collect(ctx, s, scanInt, `SELECT gate FROM tasker_limit_permits WHERE step_id = $1 ORDER BY gate`, s.id(step))
}
