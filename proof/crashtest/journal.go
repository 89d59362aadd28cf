package crashtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Span is the time of a call on the Journal's counter.
type Span struct{ Begin, End int64 }

// Before reports whether the call had ended before other began.
func (s Span) Before(other Span) bool { return s.End < other.Begin }

// Answer is how a call ended, as its caller saw it.
type Answer struct {
	// Known is false if the answer was lost: the effect is unknown.
	Known bool
	// Code is the reason of a refusal; empty if accepted.
	Code tasker.Code
}

// Accepted reports that the caller learned of the effect.
func (a Answer) Accepted() bool { return a.Known && a.Code == "" }

// Possible reports that the call may have had its effect.
func (a Answer) Possible() bool { return !a.Known || a.Code == "" }

// Submit is one task of a submission.
type Submit struct {
	Span
	Answer
	Ref     string // its correlation ID: the same in every attempt at one task
	Batch   int64  // tasks of one request share it; 0: a single task
	Key     string // its idempotency key
	Context json.RawMessage
	Task    uuid.UUID // as answered
	Created bool      // as answered
}

// Handout is one step that a worker got from a poll.
type Handout struct {
	Span
	Worker  uuid.UUID
	Step    uuid.UUID
	Task    uuid.UUID
	Token   string
	Lease   int64 // the number of it
	Parents map[string]json.RawMessage
}

// Verbs of a Report.
const (
	VerbStart     = "start"
	VerbProgress  = "progress"
	VerbHeartbeat = "heartbeat"
	VerbResult    = "result"
)

// Report is one report to the server under a token. Accepted means that the lease was held.
type Report struct {
	Span
	Answer
	Verb   string
	Worker uuid.UUID // the reporter
	Step   uuid.UUID
	Token  string
	Lease  int64  // the number of it
	Status string // of a result: completed, failed, released, snoozed
	Result json.RawMessage
}

func (r *Report) completes() bool {
	return r.Verb == VerbResult && r.Status == protocol.ResultCompleted
}

// Cancel is one task that a caller wanted cancelled.
type Cancel struct {
	Span
	Answer
	Task uuid.UUID
}

// Act is one act of an operator, with a unique reason.
type Act struct {
	Span
	Answer
	Task, Step uuid.UUID
	Kind       string
	Reason     string
	Result     json.RawMessage
}

// Signal is one sending of a signal.
type Signal struct {
	Span
	Answer
	ID, Name, Key string
	Payload       json.RawMessage
	ConfirmedAt   time.Time // when the answer came
}

// Fault is an answer that no crash explains: the server reports a bug.
type Fault struct{ Verb, Message string }

// Journal is the calls and answers of a run. Its methods are safe for concurrent use; read its fields when all callers
// have ended. It stays in memory, since its process is never killed.
type Journal struct {
	Submits  []Submit
	Handouts []Handout
	Reports  []Report
	Cancels  []Cancel
	Acts     []Act
	Signals  []Signal
	Faults   []Fault
	// SignalEnds has the outcome of each accepted signal; see Recorder.ResendSignals.
	SignalEnds map[string]SignalEnd
	// Ends are the allowed final states by Ref; the default is complete.
	Ends map[string][]tasker.TaskState
	// Foreign are the handlers served by workers that keep no journal.
	Foreign map[string]bool
	// Dispatched: a dispatcher keeps the leases. Processes that have lost it may hand out a step twice: the first
	// result wins, and unreported hand-outs leave no trace.
	Dispatched bool
	// Gaps are lost times, oldest first.
	Gaps []Gap

	mu      sync.Mutex
	counter int64
	batches int64
	latest  map[uuid.UUID]Handout      // the last one of each step
	ended   map[protocol.LeaseRef]bool // leases whose result was accepted
	taken   []Report                   // accepted results, for callers that replay them
	large   map[string]json.RawMessage // by reference, and by checksum
}

// NewJournal returns an empty Journal.
func NewJournal() *Journal {
	return &Journal{
		Ends: map[string][]tasker.TaskState{}, Foreign: map[string]bool{},
		latest: map[uuid.UUID]Handout{}, ended: map[protocol.LeaseRef]bool{}, large: map[string]json.RawMessage{},
	}
}

func (j *Journal) begin() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counter++
	return j.counter
}

// write stamps the end of a call and lets fn note it. fn runs under the lock, so it must not block.
func (j *Journal) write(begin int64, fn func(Span)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counter++
	fn(Span{begin, j.counter})
}

// Expect sets the allowed final states of the task of ref. Call it before the submission.
func (j *Journal) Expect(ref string, ends ...tasker.TaskState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Ends[ref] = ends
}

// Tasks returns the number of requested tasks.
func (j *Journal) Tasks() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.Submits)
}

// Obsolete reports whether a caller learned that the lease is over: its result was accepted, or the step was handed out
// again. Check draws its own conclusions.
func (j *Journal) Obsolete(step uuid.UUID, token string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.latest[step].Lease > LeaseNo(token) || j.ended[protocol.LeaseRef{StepUUID: step, Token: token}]
}

// Held returns another worker's lease that may be in force, for callers that show foreign tokens.
func (j *Journal) Held(but uuid.UUID) (Handout, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, h := range j.latest { // any will do
		if h.Worker != but && !j.ended[protocol.LeaseRef{StepUUID: h.Step, Token: h.Token}] {
			return h, true
		}
	}
	return Handout{}, false
}

// LeaseNo is the number at the beginning of a token, which names the lease in a history and orders the leases of a
// step; 0: none.
func LeaseNo(token string) int64 {
	number, _, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Taken returns an accepted result chosen by pick, which is given their number.
func (j *Journal) Taken(pick func(n int) int) (Report, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.taken) == 0 {
		return Report{}, false
	}
	return j.taken[pick(len(j.taken))], true
}
