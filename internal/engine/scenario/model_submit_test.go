package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// modelPermits is the limit of the template "limited".
const modelPermits = 2

// modelRate is the rate of its second step, and of the template "paced".
var modelRate = limit.Spec{Rate: limit.Rate{Count: 3, Per: 10 * time.Second, Burst: 2}}

func modelTemplate(name string) *task.Template {
	list := modelTemplates()
	return list[slices.IndexFunc(list, func(t *task.Template) bool { return t.Name == name })]
}

func modelTemplates() []*task.Template {
	quick := task.Retry{Retryable: true, MaxAttempts: 2, Backoff: task.BackoffFixed, Base: time.Second}
	none := task.Retry{Retryable: true, MaxAttempts: 3, Backoff: task.BackoffNone}
	never := task.Retry{}
	list := slices.Concat(childTemplates(quick, none), signalTemplates(none), sealedTemplates(quick, none))
	list = append(list, []*task.Template{
		{Name: "chain", Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick},
			{Name: "b", Handler: "h", Dependencies: []string{"a"}, Retry: never},
			{Name: "c", Handler: "i", Dependencies: []string{"b"}, Retry: none}}},
		{Name: "diamond", Lifecycle: task.Lifecycle{MaxDuration: 20 * time.Minute},
			Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: none},
				{Name: "b", Handler: "h", Dependencies: []string{"a"}, Retry: quick, Capabilities: []string{"gpu"}},
				{Name: "c", Handler: "i", Dependencies: []string{"a"}, Retry: never},
				{Name: "d", Handler: "h", Dependencies: []string{"b", "c"}, Retry: quick, Timeout: time.Minute}}},
		{Name: "wide", Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick}, {Name: "b", Handler: "h", Retry: none},
			{Name: "c", Handler: "i", Retry: never},
			{Name: "end", Handler: "h", Dependencies: []string{"a", "b", "c"}, Retry: quick},
			{Name: "aside", Handler: "i", Dependencies: []string{"a"}, Retry: none}}},
		{Name: "limited",
			Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick, Concurrency: &limit.Spec{Permits: modelPermits}},
				{Name: "b", Handler: "i", Dependencies: []string{"a"}, Retry: none,
					RateLimit: &modelRate}}},
		{Name: "paced", Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick, RateLimit: &modelRate}}},
		compensated(quick, never), rests(quick, never),
	}...)
	for _, t := range list {
		t.Namespace, t.Version, t.Fingerprint = engine.DefaultNamespace, "1", t.Name
		t.Link()
	}
	return list
}

// modelSubmits are templates; "" is a single step.
var modelSubmits = []string{"chain", "diamond", "wide", "limited", "undone", "", "family", "each", "gate", "called",
	"calls", "called"}

func (m *model) submit(o op) error { return m.accept(modelSubmissions(o, m.worlds[0].now)) }

func modelSubmissions(o op, now time.Time) []engine.Submission {
	subs := make([]engine.Submission, 1+o.n[0]%3)
	for i := range subs {
		pick := o.n[1] >> (4 * i)
		s := engine.Submission{Context: []byte(fmt.Sprint(pick))}
		switch name := modelSubmits[pick%uint32(len(modelSubmits))]; name {
		case "":
			s.TaskType, s.Timeout = "h", 90*time.Second
		default:
			s.Name = name
		}
		items := fmt.Sprint([]int{1, 2, 3, 4, 5}[:pick>>3%6])
		items = strings.ReplaceAll(items, " ", ",")
		if (s.Name == "each" || s.Name == "family") && o.n[3]>>(4*i)%2 == 0 {
			s.Name = "rests"
		}
		switch s.Name {
		case "each", "calls", "rests":
			s.Context = fmt.Appendf(nil, `{"items":%s}`, items)
		case "called":
			s.Context = fmt.Appendf(nil, `{"key":%d}`, pick>>3%4)
			if pick>>5%8 == 0 {
				s.Context = []byte(`{}`) // no key
			}
		}
		s.Priority = []string{"", "high", "low", "0", "100"}[o.n[2]>>(4*i)%5]
		if key := o.n[3] >> (4 * i) % 12; key < 4 {
			s.IdempotencyKey = fmt.Sprint("k", key)
		}
		if o.n[4]>>(4*i)%5 == 0 {
			s.RunAt = task.At(now.Add(time.Duration(o.n[5]%600) * time.Second))
		}
		if key := o.n[5] >> (4 * i) % 6; key < 2 {
			s.Meta.OrderingKey = fmt.Sprint("o", key)
		}
		if key := o.n[2] >> (4 * i) % 7; key < 2 {
			s.Context = fmt.Appendf(nil, `{"key":%d,"pick":%d,"items":%s}`, key, pick, items)
			s.Unique = &task.Unique{By: []string{"/key"}, OnConflict: task.UniqueConflicts[o.n[1]>>(4*i)%3]}
			if o.n[4]>>(4*i)%3 == 0 {
				s.Unique.Period = 10 * time.Minute
			}
			if o.n[5]>>(4*i)%3 == 0 {
				s.Unique.While = []string{task.PhaseUnsettled}
			}
		}
		subs[i] = s
	}
	return subs
}

// accept submits tasks and gives their turns.
func (m *model) accept(subs []engine.Submission) error {
	receipts, err := both(m, func(w *world) ([]engine.Receipt, error) {
		return w.engine.Submit(w.ctx, slices.Clone(subs), false)
	})
	for _, r := range receipts {
		if r.Created {
			m.tasks = append(m.tasks, r.ID)
		}
	}
	if err != nil {
		return err
	}
	_, err = both(m, func(w *world) (any, error) { return nil, w.giveTurns() })
	return err
}
