package store

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A page of tasks is assembled from one or more sources, each an index that yields IDs newest first: tags, correlation
// IDs, initiators, (template, state), or the tasks themselves. Conditions outside the index filter a bounded window of
// it, so that a page costs the same however few tasks match: the page may be short, and its cursor is where the search
// continues.
const (
	// window bounds the entries of an index that one source reads for a page.
	window = 20_000
	// maxSources bounds the walks of one page. Beyond it, all tasks are one source and the rest is a filter.
	maxSources = 256
	// clockSlack is the most that an ID may run ahead of its task's creation.
	clockSlack = time.Hour
)

const initiator = `meta ->> 'initiator'`

// source yields task IDs from one index. IDs grow with time, so an index that ends with the ID is in the order of a
// page.
type source struct {
	from string // table and alias i
	id   string
	cond where // on i
	// Each of the args of filter is the values of one term; see filterBy.
	filter where // on t, beyond the index
}

// ListTasks returns a page, newest first; see engine.ReadTasks. The cursor is the ID below which the next page begins.
// Only a zero cursor is the end, not a short page.
func (s SQL) ListTasks(ctx context.Context, f engine.TaskFilter) ([]*task.Task, task.ID, error) {
	sources, err := s.sources(ctx, f)
	if err != nil {
		return nil, task.ID{}, err
	}
	var ids []task.ID
	// IDs below the horizon are discarded: a source that stopped there may have others between them.
	var horizon task.ID // some source has not been read below it
	for _, src := range sources {
		got, stop, err := s.draw(ctx, src, f)
		if err != nil {
			return nil, task.ID{}, err
		}
		ids = append(ids, got...)
		if compareIDs(stop, horizon) > 0 {
			horizon = stop
		}
	}
	slices.SortFunc(ids, func(a, b task.ID) int { return compareIDs(b, a) })
	ids = slices.Compact(ids)
	if !horizon.IsZero() {
		ids = slices.DeleteFunc(ids, func(id task.ID) bool { return compareIDs(id, horizon) < 0 })
	}
	next := horizon
	if len(ids) > f.Limit {
		ids = ids[:f.Limit]
		next = ids[f.Limit-1]
	}
	return s.page(ctx, ids, next, f)
}

// page returns the tasks by ID, and next; or fewer, and where they end, if their contexts exceed the bytes of a page.
// It returns at least one task. It reads small parts, because a context can be as large as a payload.
func (s SQL) page(ctx context.Context, ids []task.ID, next task.ID,
	f engine.TaskFilter,
) ([]*task.Task, task.ID, error) {
	// Without contexts the rows are small, and cannot exceed the bytes of a page.
	if !f.Contexts {
		rows, err := collectByIDs(ctx, s, ids, s.ScanTask, `SELECT `+bareTask+` FROM tasker_tasks t WHERE t.id IN `, ``)
		return inOrder(ids, rows), next, err
	}
	var tasks []*task.Task
	size := 0
	for part := range slices.Chunk(ids, heavy) {
		rows, err := s.fetch(ctx, part)
		if err != nil {
			return nil, task.ID{}, err
		}
		for _, t := range rows {
			if size += len(t.Context); f.Bytes > 0 && size > f.Bytes && len(tasks) > 0 {
				return tasks, tasks[len(tasks)-1].ID, nil
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, next, nil
}

// heavy bounds the rows with payloads in one read: rows beyond the bytes of a page are discarded.
const heavy = 16

func compareIDs(a, b task.ID) int { return slices.Compare(a[:], b[:]) }

// fetched bounds the rows that one statement finds by ID, to keep it quick to prepare and plan.
const fetched = 256

func chunks(ids []task.ID) iter.Seq[[]task.ID] { return slices.Chunk(ids, fetched) }

// fetch returns the tasks in the order of the IDs, with few statements, because each may be a round trip.
func (s SQL) fetch(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	rows, err := collectByIDs(ctx, s, ids, s.ScanTask, `SELECT `+TaskColumns+` FROM tasker_tasks t WHERE t.id IN `, ``)
	return inOrder(ids, rows), err
}

func inOrder(ids []task.ID, rows []*task.Task) []*task.Task {
	found := make(map[task.ID]*task.Task, len(rows))
	for _, t := range rows {
		found[t.ID] = t
	}
	tasks := make([]*task.Task, 0, len(ids))
	for _, id := range ids {
		if t := found[id]; t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (s SQL) idList(w *where, ids []task.ID) string { return list(w, ids, s.id) }

// list is a list of values for IN; values must not be empty. It repeats the last value, so that few different
// statements are prepared.
func list[T any](w *where, values []T, arg func(T) any) string {
	var list strings.Builder
	list.WriteString("(")
	for n := 0; n < len(values) || n&(n-1) != 0; n++ { // up to a power of two
		if n > 0 {
			list.WriteString(", ")
		}
		list.WriteString(w.arg(arg(values[min(n, len(values)-1)])))
	}
	list.WriteString(")")
	return list.String()
}

// draw returns up to limit+1 matching IDs of a source, to show whether there are more, and the ID at which it stopped:
// zero after the whole source.
func (s SQL) draw(ctx context.Context, src source, f engine.TaskFilter) ([]task.ID, task.ID, error) {
	w := src.cond
	w.addIf(!f.Below.IsZero(), "i."+src.id+" < ?", s.id(f.Below))
	w.addIf(f.CreatedAfter != 0, "i."+src.id+" >= ?", s.id(task.MakeID(task.SeqFloor(f.CreatedAfter.Time()), 0)))
	w.addIf(f.CreatedBefore != 0, "i."+src.id+" < ?",
		s.id(task.MakeID(task.SeqFloor(f.CreatedBefore.Time().Add(clockSlack)), 0)))
	inner := "SELECT i." + src.id + " AS id FROM " + src.from + " i" + w.text() + " ORDER BY i." + src.id + " DESC"
	if len(src.filter.terms) == 0 {
		ids, err := collect(ctx, s, s.scanID, inner+" LIMIT "+w.arg(f.Limit+1), w.args...)
		return ids, stopAt(ids, f.Limit), err
	}
	// The last entry of the window: the page continues there after less than a page of matches.
	edge, err := first(ctx, s, s.scanID, inner+" LIMIT 1 OFFSET "+strconv.Itoa(window-1), w.args...)
	if err != nil {
		return nil, task.ID{}, err
	}
	outer := where{args: w.args}
	for i, term := range src.filter.terms {
		outer.add(term, src.filter.args[i].([]any)...)
	}
	query := "SELECT q.id FROM (" + inner + " LIMIT " + strconv.Itoa(window) + ") q JOIN tasker_tasks t ON t.id = q.id" +
		outer.text() + " ORDER BY q.id DESC LIMIT " + outer.arg(f.Limit+1)
	ids, err := collect(ctx, s, s.scanID, query, outer.args...)
	if stop := stopAt(ids, f.Limit); !stop.IsZero() {
		return ids, stop, err
	}
	return ids, edge, err
}

func stopAt(ids []task.ID, limit int) task.ID {
	if len(ids) <= limit {
		return task.ID{}
	}
	return ids[limit]
}

func (src *source) filterBy(cond bool, term string, values ...any) {
	if cond {
		src.filter.terms = append(src.filter.terms, term)
		src.filter.args = append(src.filter.args, values)
	}
}

// sources chooses the narrowest index for a filter, in the usual order of selectivity. It removes the index's
// conditions from the filter; residual adds the rest.
func (s SQL) sources(ctx context.Context, f engine.TaskFilter) ([]source, error) {
	defs, restricted, err := s.definitions(ctx, f)
	if err != nil || restricted && len(defs) == 0 {
		return nil, err
	}
	var list []source
	switch {
	case f.Tag != "":
		src := source{from: "tasker_task_tags", id: "task_id"}
		src.cond.add("i.tag = ?", f.Tag)
		src.filterBy(f.CorrelationID != "", "t.correlation_id = ?", f.CorrelationID)
		list = append(list, src)
	case f.CorrelationID != "":
		src := source{from: "tasker_tasks", id: "id"}
		// The second part repeats the condition of the partial index, which an argument cannot prove.
		src.cond.add("i.correlation_id = ? AND i.correlation_id <> ''", f.CorrelationID)
		list = append(list, src)
	case f.Initiator != "":
		src := source{from: "tasker_tasks", id: "id"}
		src.cond.add("i."+initiator+" = ? AND i."+initiator+" IS NOT NULL", f.Initiator)
		list = append(list, src)
		f.Initiator = ""
	case restricted || len(f.States) > 0:
		if list, err = s.byState(ctx, f, defs, restricted); err != nil {
			return nil, err
		}
		restricted, f.States = restricted && len(list) == 0, keepIf(len(list) == 0, f.States)
	}
	if len(list) == 0 {
		list = append(list, source{from: "tasker_tasks", id: "id"})
	}
	for i := range list {
		list[i].residual(f, defs, restricted)
	}
	return list, nil
}

func keepIf(cond bool, states []task.State) []task.State {
	if cond {
		return states
	}
	return nil
}

// residual adds the conditions outside the source's index. A creation time is checked again, because the time in an ID
// may differ by up to clockSlack.
func (src *source) residual(f engine.TaskFilter, defs []int64, restricted bool) {
	if restricted {
		src.filterBy(true, "t.def_id IN ("+marks(len(defs))+")", anys(defs)...)
	}
	if len(f.States) > 0 {
		src.filterBy(true, "t.state IN ("+marks(len(f.States))+")", anys(texts(f.States))...)
	}
	src.filterBy(f.Initiator != "", "t."+initiator+" = ?", f.Initiator)
	if f.Priority != nil {
		src.filterBy(true, "t.priority = ?", *f.Priority)
	}
	src.filterBy(f.CreatedAfter != 0, "t.created_at >= ?", int64(f.CreatedAfter))
	src.filterBy(f.CreatedBefore != 0, "t.created_at < ?", int64(f.CreatedBefore))
}

// byState returns one source per template and state, none if there are too many or some states have no index. Without a
// template it takes all templates, if they are few: the index of states begins with the template.
func (s SQL) byState(ctx context.Context, f engine.TaskFilter, defs []int64, restricted bool) ([]source, error) {
	if !restricted {
		var err error
		if defs, err = collect(ctx, s, scanInt, `SELECT def_id FROM tasker_templates LIMIT $1`, maxSources+1); err != nil {
			return nil, err
		}
	}
	states := f.States
	if len(states) == 0 {
		states = task.States
	}
	columns := make([]string, len(states))
	for i, st := range states {
		if columns[i] = s.stateColumn(st); columns[i] == "" {
			return nil, nil
		}
	}
	if len(defs)*len(states) > maxSources {
		return nil, nil
	}
	var list []source
	for _, d := range defs {
		for i, st := range states {
			src := source{from: "tasker_tasks", id: "id"}
			src.cond.add("i.def_id = ?", d)
			src.cond.add("i."+columns[i]+" = ?", string(st))
			list = append(list, src)
		}
	}
	return list, nil
}

func (s SQL) stateColumn(st task.State) string {
	if s.Dialect.StateColumn == nil {
		return "state"
	}
	return s.Dialect.StateColumn(st)
}

// definitions returns the keys of a filter's templates, and whether it names any. None, with true: nothing can match.
func (s SQL) definitions(ctx context.Context, f engine.TaskFilter) ([]int64, bool, error) {
	if f.Namespace == "" && f.Name == "" && f.Version == "" {
		return nil, false, nil
	}
	w := where{}
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.Name != "", "name = ?", f.Name)
	w.addIf(f.Version != "", "version = ?", f.Version)
	defs, err := collect(ctx, s, scanInt, `SELECT def_id FROM tasker_templates`+w.text(), w.args...)
	return defs, true, err
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func texts[T ~string](states []T) []string {
	out := make([]string, len(states))
	for i, s := range states {
		out[i] = string(s)
	}
	return out
}

// where.add replaces each by a numbered placeholder.
func marks(n int) string {
	b := make([]byte, 0, 3*n)
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '?')
	}
	return string(b)
}
