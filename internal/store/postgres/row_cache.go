package postgres

import (
	"slices"
	"sync"

	"github.com/taskerhq/tasker/internal/model/task"
)

// rowCache is this process's cache of rows with work to come: a step that it leased is settled without another read.
// Another process may change them, so each has its version, which is checked when the row is saved, or at the end of a
// transaction that only read it.
type rowCache struct {
	mu    sync.Mutex
	tasks map[task.ID]*cachedTask
	place map[task.ID]cachedPlace
	steps int
	bytes int
}

// cachedTask is a task with its known steps, by ordinal; version 0 marks an empty place.
type cachedTask struct {
	task    taskRow
	context []byte
	known   bool // the context is known
	edits   int  // edits before it became known
	steps   []stepRow
}

type cachedPlace struct {
	*cachedTask
	at int
}

// taskRow and stepRow are rows with their versions: the transaction that wrote them. Version 0 is unknown.
type taskRow struct {
	task.Task // without its context
	version   uint32
}

type stepRow struct {
	task.Step
	version uint32
}

// Bounds of the cache; when one is exceeded, everything is dropped and read again.
const (
	maxSteps = 50_000
	maxBytes = 64 << 20
	maxKept  = 16 << 10
)

func newRowCache() *rowCache {
	return &rowCache{tasks: map[task.ID]*cachedTask{}, place: map[task.ID]cachedPlace{}}
}

// work returns copies of a cached step and its task with shared slices: the caller must not change a result or a
// context in place.
func (m *rowCache) work(id task.ID) (stepRow, taskRow, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.place[id]
	if !ok {
		return stepRow{}, taskRow{}, false
	}
	return p.steps[p.at], p.task, true
}

func (m *rowCache) task(id task.ID) (taskRow, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.tasks[id]; f != nil {
		return f.task, true
	}
	return taskRow{}, false
}

// siblings returns steps of a task by ordinal (all if ordinals is nil), or false unless all are cached. An ordinal
// below 1 does not occur.
func (m *rowCache) siblings(id task.ID, ordinals []int) ([]stepRow, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.tasks[id]
	if f == nil || ordinals == nil && len(f.steps) != f.task.Counts.Total() {
		return nil, false
	}
	if ordinals == nil {
		all := slices.Clone(f.steps)
		for _, s := range all {
			if s.version == 0 {
				return nil, false
			}
		}
		return all, true
	}
	some := make([]stepRow, len(ordinals))
	for i, n := range ordinals {
		if n > len(f.steps) || f.steps[n-1].version == 0 {
			return nil, false
		}
		some[i] = f.steps[n-1]
	}
	return some, true
}

// context returns the context of a task after the given number of edits, or false when it is not cached.
func (m *rowCache) context(id task.ID, edits int) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.tasks[id]; f != nil {
		return f.context, f.known && f.edits == edits
	}
	return nil, false
}

func (m *rowCache) remembers(id task.ID) bool {
	_, ok := m.task(id)
	return ok
}

func (m *rowCache) forget(ids []task.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if f := m.tasks[id]; f != nil {
			m.drop(f)
		}
	}
}

// hasRoom reports whether the cache accepts tasks without an event. Half of the cache is reserved for rows that this
// process has leased.
func (m *rowCache) hasRoom() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps < maxSteps/2 && m.bytes < maxBytes/2
}

func (m *rowCache) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

// clear is forgetAll for a caller that holds mu.
func (m *rowCache) clear() {
	clear(m.tasks)
	clear(m.place)
	m.steps, m.bytes = 0, 0
}

// keep caches the rows that a transaction wrote and read, after its commit. It drops rows of settled tasks.
func (m *rowCache) keep(tasks []*taskRow, contexts map[task.ID][]byte, steps []*stepRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.steps > maxSteps || m.bytes > maxBytes {
		m.clear()
	}
	for _, t := range tasks {
		m.keepTask(t, contexts)
	}
	for _, s := range steps {
		m.keepStep(s)
	}
}

// keepTask caches a task, or drops a settled one, and a context that another process has edited.
func (m *rowCache) keepTask(t *taskRow, contexts map[task.ID][]byte) {
	f := m.tasks[t.ID]
	if t.State.Settled() {
		if f != nil {
			m.drop(f)
		}
		return
	}
	if f == nil {
		f = &cachedTask{}
		m.tasks[t.ID] = f
	}
	f.task = *t
	f.task.Context = nil
	if f.known && f.edits != t.Meta.ContextEdits { // by another process
		m.bytes -= len(f.context)
		f.context, f.known = nil, false
	}
	document, known := contexts[t.ID]
	if known && !f.known && len(document) <= maxKept {
		f.context, f.known, f.edits = document, true, t.Meta.ContextEdits
		m.bytes += len(document)
	}
}

// keepStep caches a step of a cached task, but no large result, nor a context that no other step needs.
func (m *rowCache) keepStep(s *stepRow) {
	f := m.tasks[s.TaskID]
	if f == nil {
		return // settled, or never loaded
	}
	if total := f.task.Counts.Total(); f.steps == nil {
		f.steps = make([]stepRow, total)
	}
	at := s.Ordinal - 1
	if at < 0 || at >= len(f.steps) {
		return
	}
	was := &f.steps[at]
	if was.version == 0 {
		m.steps++
		m.place[s.ID] = cachedPlace{f, at}
	}
	m.bytes += len(s.Result) - len(was.Result)
	*was = *s
	if len(s.Result) > maxKept {
		m.bytes -= len(s.Result)
		*was = stepRow{}
		m.steps--
		delete(m.place, s.ID)
		return
	}
	if s.State.Leased() && f.known && len(f.steps) == 1 {
		m.bytes -= len(f.context) // no other caller will read it
		f.context, f.known = nil, false
	}
}

// drop removes a task with its steps. The caller holds mu. A place left behind would lead to a task that is no longer
// in the cache.
func (m *rowCache) drop(f *cachedTask) {
	for i := range f.steps {
		if s := &f.steps[i]; s.version != 0 {
			delete(m.place, s.ID)
			m.steps--
			m.bytes -= len(s.Result)
		}
	}
	m.bytes -= len(f.context)
	delete(m.tasks, f.task.ID)
}
