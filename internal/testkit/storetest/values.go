package storetest

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// valueCases store error-prone values and read them back.
func valueCases() []testCase {
	return []testCase{
		{"HostileStrings", hostileStrings},
		{"JSON", jsonValues},
		{"LargeContext", largeContext},
		{"ManySteps", manySteps},
		{"StepExtremes", stepExtremes},
		{"TaskExtremes", taskExtremes},
		{"NothingSet", nothingSet},
	}
}

// hostile texts come from people, programs and attackers.
func hostile() []string {
	return []string{
		"'; DROP TABLE tasks; --", `"quoted" and \back\slashed\`, "%_*?[a-z]", "Grüße, 世界 🌍 e\u0301",
		"\u202eright to left\u202c", "line one\nline two\ttab", "$1 ? :name @p1", "NULL", " ", "0x00", "{}", "\U0010FFFF",
		strings.Repeat("long ", 51),
	}
}

func hostileStrings(f *fixture) {
	var jobs []job
	for _, s := range hostile() {
		j := f.build(f.single, 0)
		j.task.IdempotencyKey, j.task.CorrelationID = s, s
		j.task.Meta = task.Meta{Tags: []string{s, "x"}, ParentCorrelationID: s, Initiator: s, SourceSystem: s, Reason: s,
			CancelReason: s, CancelledBy: s, TraceParent: s}
		jobs = append(jobs, j)
	}
	f.insert(jobs...)
	for i, s := range hostile() {
		jobs[i].steps[0].Note = s
		f.write(jobs[i].save)
	}
	for i, s := range hostile() {
		f.wantJob(jobs[i])
		for name, filter := range map[string]engine.TaskFilter{
			"Tag": {Tag: s}, "CorrelationID": {CorrelationID: s}, "Initiator": {Initiator: s},
		} {
			filter.Limit = 100
			f.equal(name+" "+s, f.list(filter), []task.ID{jobs[i].task.ID})
		}
	}
}

func jsonValues(f *fixture) {
	texts := []string{"null", `""`, "{}", "[]", "0", "-1.5e300", "9007199254740993", `"\u0000"`,
		`{"b":1,"a":{"ü":"\ud83c\udf0d"}}`, "  [1 , 2]\n", "true"}
	var jobs []job
	for _, s := range texts {
		j := f.build(f.single, 0)
		j.task.Context = []byte(s)
		jobs = append(jobs, j)
	}
	f.insert(jobs...)
	for i, s := range texts {
		jobs[i].steps[0].Result = []byte(s)
		f.write(jobs[i].save)
		f.wantJob(jobs[i]) // byte by byte as it came
	}
	none := f.one()
	if c := f.find(none.task.ID).Context; c != nil {
		f.Errorf("no context came back as %q", c)
	}
	if r := f.findSteps(none.task.ID)[0].Result; r != nil {
		f.Errorf("no result came back as %q", r)
	}
}

func largeContext(f *fixture) {
	j := f.build(f.single, 0)
	j.task.Context = []byte(`"` + strings.Repeat("0123456789abcdef", 1<<16) + `"`)
	f.insert(j)
	j.steps[0].Result = slices.Clone(j.task.Context)
	f.write(j.save)
	f.wantJob(j)
}

func manySteps(f *fixture) {
	def := &task.Template{Namespace: "default", Name: "wide", Version: "1", CreatedAt: f.now.Time()}
	for i := range task.MaxSteps {
		def.Steps = append(def.Steps, task.StepSpec{Name: "s" + strings.Repeat("x", i), Handler: "a"})
	}
	def.Link()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.InsertTemplate(ctx, def)
		return err
	})
	j := f.build(def, 0)
	f.insert(j)
	f.wantJob(j)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Steps(ctx, []engine.Family{{Task: j.task.ID, Ordinals: []int{1, task.MaxSteps}}})
		f.equal("the first and the last", got, [][]*task.Step{{j.steps[0], j.steps[task.MaxSteps-1]}})
		return err
	})
}

// extremes are times before 1970, at its first moments, and far away.
func extremes() []task.Instant {
	return []task.Instant{1, -1, task.At(time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)),
		task.At(time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)),
		1 << 53, math.MaxInt64, math.MinInt64}
}

func stepExtremes(f *fixture) {
	for _, at := range extremes() {
		j := f.one()
		f.move(j, func(s *task.Step) error { return s.Claim(math.MaxInt32, f.now, f.now.Add(time.Minute)) })
		s := j.steps[0]
		s.Key, s.LeaseUntil = int64(at), at
		s.ReadyAt, s.AssignedAt, s.StartedAt, s.FinishedAt = at, at, at, at
		s.Token, s.Attempts, s.MaxAttempts = math.MaxInt64, math.MaxInt32, math.MaxInt32
		s.Timeout, s.Progress, s.Priority = 7*24*time.Hour, 100, 0
		f.write(func(ctx context.Context, tx engine.Tx) error { return tx.SaveSteps(ctx, j.steps) })
		f.wantJob(j)
	}
}

func taskExtremes(f *fixture) {
	for _, at := range extremes() {
		j := f.build(f.single, 0)
		j.task.CreatedAt, j.task.RunAt, j.task.DeadlineAt = at, at, at
		j.task.Priority = 100
		f.insert(j)
		f.wantJob(j)
		f.finish(j, at)
		f.wantJob(j)
	}
}

func nothingSet(f *fixture) {
	j := f.build(f.single, 0)
	j.task.Priority, j.task.CreatedAt = 0, 0
	s := j.steps[0]
	s.Priority, s.MaxAttempts, s.Timeout, s.ReadyAt, s.Key = 0, 0, 0, 0, 0
	f.insert(j)
	f.wantJob(j)
}
