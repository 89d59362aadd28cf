package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FindCase implements engine.CaseReader.
// The snapshot, the former occurrences and the thread are copied too.
func (s *Store) FindCase(ctx context.Context, id task.ID) (*task.Case, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return cloneCase(st.cases[id]), nil
}

// LastCase implements engine.CaseReader. The last ID was opened last.
func (s *Store) LastCase(ctx context.Context, of task.ID) (*task.Case, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if list := st.casesOf(of); len(list) > 0 {
		return cloneCase(list[len(list)-1]), nil
	}
	return nil, nil
}

// casesWhere returns the matching cases, oldest first, by a scan. An empty field of the filter passes every case, as in
// SQL. Offset, Limit and Bytes are the caller's.
func (s *state) casesWhere(f engine.CaseFilter) []*task.Case {
	var list []*task.Case
	for _, c := range s.cases {
		def := s.template(c.DefID)
		if (len(f.IDs) == 0 || slices.Contains(f.IDs, c.ID)) && (f.Status == "" || c.Status == f.Status) &&
			(f.Reason == "" || c.Reason == f.Reason) &&
			(f.Namespace == "" || def.Namespace == f.Namespace) && (f.TaskName == "" || def.Name == f.TaskName) &&
			(f.After == 0 || c.OpenedAt >= f.After) && (f.Before == 0 || c.OpenedAt < f.Before) &&
			(f.Fingerprint == "" || c.Fingerprint == f.Fingerprint) && (f.Retryable == nil || c.Retryable == *f.Retryable) &&
			(f.Below.IsZero() || compareIDs(c.ID, f.Below) < 0) && (!f.InError || s.tasks[c.TaskID].State == task.Errored) &&
			(f.State == "" || s.tasks[c.TaskID].State == f.State) && s.failedAs(c, def, f) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, compareCases)
	return list
}

// failedAs matches the failure. The message is case-sensitive, like replace in SQL.
func (s *state) failedAs(c *task.Case, def *task.Template, f engine.CaseFilter) bool {
	runs := func(spec task.StepSpec) bool { return spec.Name == c.Step && spec.Handler == f.Handler }
	return (f.Step == "" || c.Step == f.Step) && (f.Message == "" || strings.Contains(c.Message, f.Message)) &&
		(f.Handler == "" || slices.ContainsFunc(def.Steps, runs))
}

// ListCases implements engine.CaseReader.
// An offset beyond the end gives an empty page.
func (s *Store) ListCases(ctx context.Context, f engine.CaseFilter) ([]*task.Case, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := st.casesWhere(f)
	slices.Reverse(list)
	list = list[min(f.Offset, len(list)):]
	return casePage(list, f), nil
}

// ResolvedCases implements engine.CaseReader. The sort is stable: equal times keep the order of IDs.
func (s *Store) ResolvedCases(ctx context.Context, before task.Instant, limit int) ([]*task.Case, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := slices.DeleteFunc(st.casesWhere(engine.CaseFilter{}), func(c *task.Case) bool {
		return c.Status == task.CasePending || c.ResolvedAt >= before
	})
	slices.SortStableFunc(list, func(a, b *task.Case) int { return cmp.Compare(a.ResolvedAt, b.ResolvedAt) })
	return clones(list[:min(limit, len(list))], bareCase), nil
}

// SizeOf implements engine.CaseCounter.
// f.Limit and f.Offset have no effect.
func (s *Store) SizeOf(ctx context.Context, f engine.CaseFilter, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return min(len(st.casesWhere(f)), limit), nil
}

// CountFailures implements engine.CaseCounter.
func (s *Store) CountFailures(ctx context.Context, since task.Instant, byFingerprint bool,
	limit int,
) ([]engine.FailureCount, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []engine.FailureCount
	for _, c := range st.casesWhere(engine.CaseFilter{After: since}) {
		p := engine.FailureCount{Namespace: st.template(c.DefID).Namespace, Reason: c.Reason, First: c.OpenedAt,
			Last: c.OpenedAt}
		if byFingerprint {
			p.Fingerprint = c.Fingerprint
		}
		// The scan is quadratic in the kinds of failures, of which a test has few.
		i := slices.IndexFunc(out, func(o engine.FailureCount) bool {
			return o.Namespace == p.Namespace && o.Reason == p.Reason && o.Fingerprint == p.Fingerprint
		})
		if i < 0 {
			i = len(out)
			out = append(out, p)
		}
		o := &out[i]
		o.Cases++
		o.First, o.Last = min(o.First, c.OpenedAt), max(o.Last, c.OpenedAt)
		if c.Retryable && c.Status == task.CasePending && st.tasks[c.TaskID].State == task.Errored {
			o.Replayable++
		}
	}
	slices.SortFunc(out, func(a, b engine.FailureCount) int {
		return cmp.Or(cmp.Compare(b.Cases, a.Cases), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out[:min(limit, len(out))], nil
}

// LastFailures implements engine.Evidences. max(i, 0) takes the most recent failure if the named step has none.
func (s *Store) LastFailures(ctx context.Context, of []engine.Stop) ([]task.Attempt, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []task.Attempt
	for _, o := range of {
		failed := st.lastFailures(o.Task) // the most recent of all first
		i := slices.IndexFunc(failed, func(a task.Attempt) bool { return a.StepID.Ordinal(o.Task) == o.Step })
		if len(failed) > 0 {
			out = append(out, failed[max(i, 0)])
		}
	}
	return out, nil
}

func casePage(list []*task.Case, f engine.CaseFilter) []*task.Case {
	page := clones(list[:min(f.Limit, len(list))], listedCase)
	bound(page, f.Bytes, func(c **task.Case) (*[]byte, *bool) { return &(*c).Metadata, &(*c).MetadataOmitted })
	return page
}

// bound omits large documents beyond the bytes of a page; see engine.CaseFilter. Small documents always stay, so they
// count first. A negative limit omits every large document, 0 none. A single row keeps its document. SQL stores read
// large ones one by one and stop; this must omit exactly the same ones.
func bound[T any](page []T, limit int, of func(*T) (document *[]byte, omitted *bool)) {
	large := func(document []byte) bool { return utf8.RuneCount(document) > engine.SmallDocument }
	size := 0
	for i := range page {
		if text, _ := of(&page[i]); !large(*text) {
			size += len(*text)
		}
	}
	over := limit < 0
	for i := range page {
		text, omitted := of(&page[i])
		if !large(*text) {
			continue
		}
		size += len(*text)
		if over = over || limit > 0 && size > limit && len(page) > 1; over {
			*text, *omitted = nil, true
		}
	}
}

// UrgentCases implements engine.CaseReader. settings.PriorityBases computes the urgency for both kinds of store.
func (s *Store) UrgentCases(ctx context.Context, f engine.CaseFilter,
	bases settings.PriorityBases,
) ([]*task.Case, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	f.Status = task.CasePending
	list := st.casesWhere(f)
	slices.SortFunc(list, func(a, b *task.Case) int {
		return cmp.Or(cmp.Compare(bases.Urgency(a), bases.Urgency(b)), slices.Compare(a.ID[:], b.ID[:]))
	})
	list = list[min(f.Offset, len(list)):]
	return casePage(list, f), nil
}

// CountCases implements engine.CaseCounter.
// A pair of reason and resolution without cases has no entry.
func (s *Store) CountCases(ctx context.Context, f engine.CaseFilter) ([]engine.CaseCount, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []engine.CaseCount
	for _, c := range st.casesWhere(f) {
		i := slices.IndexFunc(out, func(n engine.CaseCount) bool { return n.Reason == c.Reason && n.Status == c.Status })
		if i < 0 {
			i = len(out)
			out = append(out, engine.CaseCount{Reason: c.Reason, Status: c.Status, Oldest: c.OpenedAt, Newest: c.OpenedAt})
		}
		n := &out[i]
		n.Cases++
		n.Oldest, n.Newest = min(n.Oldest, c.OpenedAt), max(n.Newest, c.OpenedAt)
		if c.ResolvedAt != 0 {
			n.OpenFor += int64(c.ResolvedAt - c.OpenedAt)
		}
	}
	slices.SortFunc(out, func(a, b engine.CaseCount) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Status, b.Status))
	})
	return out, nil
}

// ListActs implements engine.ActStore. Acts without a task are under the zero ID.
func (s *Store) ListActs(ctx context.Context, f engine.ActFilter) ([]task.Act, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []task.Act
	for _, acts := range st.acts {
		for _, a := range acts {
			if actMatches(f, &a) {
				list = append(list, a)
			}
		}
	}
	slices.SortFunc(list, func(a, b task.Act) int { return cmp.Compare(b.No, a.No) })
	acts := clones(list[:min(f.Limit, len(list))], cloneAct)
	bound(acts, f.Bytes, func(a *task.Act) (*[]byte, *bool) { return &a.Data, &a.DataOmitted })
	return acts, nil
}

func actMatches(f engine.ActFilter, a *task.Act) bool {
	return (f.Task.IsZero() || a.TaskID == f.Task) && (f.Case.IsZero() || a.CaseID == f.Case) &&
		(f.Worker.IsZero() || a.WorkerID == f.Worker) && (f.Namespace == "" || a.Namespace == f.Namespace) &&
		(f.Template == "" || a.Template == f.Template) && (f.Actor == "" || a.Actor == f.Actor) &&
		(f.Key == "" || a.Key == f.Key) && (f.Kind == "" || a.Kind == f.Kind) && (f.After == 0 || a.At >= f.After) &&
		(f.Before == 0 || a.At < f.Before) && (f.Below == 0 || a.No < f.Below)
}

// FindTasks implements engine.ReadTasks.
// The tasks are in the order of the IDs.
func (s *Store) FindTasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Task
	for _, id := range ids {
		if row := st.tasks[id]; row != nil {
			out = append(out, bareTask(row))
		}
	}
	return out, nil
}

func bareTask(t *task.Task) *task.Task {
	c := *t
	c.Context, c.Meta = nil, cloneMeta(t.Meta)
	return &c
}

// Watches implements engine.WatchStore. It sorts all matching watches for each page.
func (s *Store) Watches(ctx context.Context, behind engine.Watch, until task.Instant,
	limit int,
) ([]engine.Watch, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	order := func(a, b engine.Watch) int { return cmp.Or(cmp.Compare(a.At, b.At), compareIDs(a.Task, b.Task)) }
	var list []engine.Watch
	for id, at := range st.watches {
		if w := (engine.Watch{Task: id, At: at}); at <= until && order(w, behind) > 0 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, order)
	return list[:min(limit, len(list))], nil
}

// CountWatches implements engine.WatchStore. A settled or deleted task keeps its watch until its next check, and does
// not count.
func (s *Store) CountWatches(ctx context.Context, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	n := 0
	for id := range st.watches {
		if row := st.tasks[id]; row != nil && !row.State.Settled() {
			n++
		}
	}
	return min(n, limit), nil
}

// Deadlines implements engine.ReadTasks.
// It examines all tasks, where the SQL stores have an index.
func (s *Store) Deadlines(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []*task.Task
	for _, id := range st.taskOrder {
		if row := st.tasks[id]; row.DeadlineAt != 0 && row.DeadlineAt <= until && !row.State.Settled() {
			list = append(list, bareTask(row))
		}
	}
	slices.SortStableFunc(list, func(a, b *task.Task) int { return cmp.Compare(a.DeadlineAt, b.DeadlineAt) })
	return list[:min(limit, len(list))], nil
}

// OverdueTasks implements engine.ReadTasks.
func (s *Store) OverdueTasks(ctx context.Context, until task.Instant, limit int) ([]task.ID, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var ids []task.ID
	for _, id := range st.taskOrder {
		if row := st.tasks[id]; row.DeadlineAt != 0 && row.DeadlineAt <= until {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b task.ID) int {
		return cmp.Compare(st.tasks[a].DeadlineAt, st.tasks[b].DeadlineAt)
	})
	return ids[:min(limit, len(ids))], nil
}

// Survey implements engine.ReadTasks. n counts examined tasks, so the bound includes settled ones, as in SQL.
func (s *Store) Survey(ctx context.Context, after, before task.ID, limit int) ([]*task.Task, task.ID, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, task.ID{}, err
	}
	defer done()
	at, found := slices.BinarySearchFunc(st.taskOrder, after, compareIDs)
	if found {
		at++
	}
	var live []*task.Task
	for n := 1; at < len(st.taskOrder) && compareIDs(st.taskOrder[at], before) < 0; n++ {
		row := st.tasks[st.taskOrder[at]]
		if !row.State.Settled() {
			live = append(live, bareTask(row))
		}
		if n == limit {
			return live, row.ID, nil
		}
		at++
	}
	return live, task.ID{}, nil
}

// Notes implements engine.NoteStore.
func (s *Store) Notes(ctx context.Context, prefix string) (map[string]string, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[string]string{}
	for key, text := range st.notes {
		if strings.HasPrefix(key, prefix) {
			out[key] = text
		}
	}
	return out, nil
}

// FindNote implements engine.NoteStore.
// An unknown key has the text "".
func (s *Store) FindNote(ctx context.Context, key string) (string, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return st.notes[key], nil
}

// ReadyAfter implements engine.QueuePlaces. Entries of the same key and a lower or the same ID are before the place.
func (s *Store) ReadyAfter(ctx context.Context, route, key int64, id task.ID, limit int) ([]*task.Step, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Step
	if q := st.queues[route]; q != nil {
		for _, e := range q.entries[q.below(key):] {
			if e.key == key && compareIDs(e.id, id) <= 0 {
				continue
			}
			if len(out) == limit {
				break
			}
			out = append(out, cloneStep(st.steps[e.id]))
		}
	}
	return out, nil
}
