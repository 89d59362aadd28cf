package sqlite

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// rows caches rows in the state of the transaction in progress, and across transactions, because there is no other
// writer: a step just submitted is claimed, and a step just claimed is settled, without a read. It returns copies, so
// an unsaved change changes nothing here.
type rows struct {
	steps    map[int64]task.Step
	tasks    map[int64]task.Task // without their contexts
	contexts map[int64][]byte
	bytes    int
}

// Bounds of the cache; when one is exceeded, everything is dropped and read again. 50,000 steps and tasks take some
// tens of megabytes. Dropping everything is simpler than choosing, and rare: settled rows leave when they are saved.
const (
	maxRows    = 50_000
	maxNewRows = maxRows / 5 * 4
	maxBytes   = 16 << 20
	maxKept    = 16 << 10
)

func newRows() *rows {
	return &rows{steps: map[int64]task.Step{}, tasks: map[int64]task.Task{}, contexts: map[int64][]byte{}}
}

func (r *rows) forget() {
	clear(r.steps)
	clear(r.tasks)
	clear(r.contexts)
	r.bytes = 0
}

// trim enforces the bounds. It runs between transactions, because a transaction relies on the rows that it saved.
func (r *rows) trim() {
	if len(r.steps) > maxRows || len(r.tasks) > maxRows || r.bytes > maxBytes {
		r.forget()
	}
}

// hasRoom reports whether new tasks are cached. A fifth of the cache is for begun tasks, whose rows are read again and
// again; a long queue must not drive them out.
func (r *rows) hasRoom() bool {
	return len(r.steps) < maxNewRows && len(r.tasks) < maxNewRows && r.bytes < maxBytes/5*4
}

// step returns a cached step. It compares the whole ID: another ID can have the same sequence.
func (r *rows) step(id task.ID) (task.Step, bool) {
	s, ok := r.steps[id.Seq()]
	return s, ok && s.ID == id
}

func (r *rows) task(id task.ID) (task.Task, bool) {
	k, ok := r.tasks[id.Seq()]
	return k, ok && k.ID == id
}

// putStep caches a step with work to come, also one that waits for its parents, and one that is complete in a live
// task: dependent steps need its result. It drops any other. The context of a task with a single step is dropped when
// the step is leased, since the worker has it.
func (r *rows) putStep(s *task.Step) {
	at := s.ID.Seq()
	if was, ok := r.steps[at]; ok {
		r.bytes -= len(was.Result)
	}
	k, ok := r.tasks[s.TaskID.Seq()]
	several := ok && k.Counts.Total() > 1
	if ended(s) && !(several && s.State == task.StepComplete && len(s.Result) <= maxKept) {
		delete(r.steps, at)
		return
	}
	r.steps[at] = *s
	r.bytes += len(s.Result)
	if ok && !several && s.State.Leased() {
		r.dropContext(s.TaskID) // no other caller will read it
	}
}

func ended(s *task.Step) bool { return s.Queue == task.NoQueue && s.State != task.StepPending }

func (r *rows) putTask(k *task.Task) {
	if k.State.Settled() {
		r.dropTask(k.ID)
		return
	}
	row := *k
	row.Context = nil // large; cached separately, or not at all
	r.tasks[k.ID.Seq()] = row
}

// dropTask removes a task, its context and its completed steps; the others are removed when they are saved.
func (r *rows) dropTask(id task.ID) {
	at := id.Seq()
	if k, ok := r.tasks[at]; ok && k.Counts.Total() > 1 {
		for n := at + 1; n <= at+int64(k.Counts.Total()); n++ { // a step's number is its task's plus its ordinal
			if s, ok := r.steps[n]; ok && s.TaskID == id && ended(&s) {
				r.bytes -= len(s.Result)
				delete(r.steps, n)
			}
		}
	}
	delete(r.tasks, at)
	r.dropContext(id)
}

func (r *rows) putContext(k *task.Task) {
	r.dropContext(k.ID)
	r.contexts[k.ID.Seq()] = k.Context
	r.bytes += len(k.Context)
}

func (r *rows) dropContext(id task.ID) {
	r.bytes -= len(r.contexts[id.Seq()])
	delete(r.contexts, id.Seq())
}
