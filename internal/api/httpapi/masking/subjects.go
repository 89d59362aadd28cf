package masking

import (
	"cmp"
	"maps"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/schedules"
)

// subjects maps types to their subjects. A function gets a pointer to a value of the type; a nil subject means that the
// enclosing object decides.
var subjects = joined(letterSubjects(), map[reflect.Type]subjectOf{
	typeOf[tasker.Task](): func(p *pass, v any) (*subject, error) { return p.shownTask(v.(*tasker.Task)) },
	typeOf[tasker.Step](): func(p *pass, v any) (*subject, error) { return p.task(v.(*tasker.Step).TaskUUID) },
	typeOf[tasker.TaskHistory](): func(p *pass, v any) (*subject, error) {
		return p.task(v.(*tasker.TaskHistory).TaskUUID)
	},
	typeOf[tasker.EditedContext](): func(p *pass, v any) (*subject, error) {
		return p.task(v.(*tasker.EditedContext).TaskUUID)
	},
	typeOf[operate.Case]():        func(p *pass, v any) (*subject, error) { return p.task(v.(*operate.Case).TaskUUID) },
	typeOf[operate.FailedTask]():  func(p *pass, v any) (*subject, error) { return p.failedTask(v.(*operate.FailedTask)) },
	typeOf[operate.AuditRecord](): func(p *pass, v any) (*subject, error) { return p.act(v.(*operate.AuditRecord)) },
	typeOf[schedules.Spec]():      func(p *pass, v any) (*subject, error) { return p.scheduled(v.(*schedules.Spec)) },
	typeOf[schedules.SavedSchedule](): func(p *pass, v any) (*subject, error) { // for the changes
		return p.scheduled(&v.(*schedules.SavedSchedule).Spec)
	},
	typeOf[queueapi.QueueTask](): func(p *pass, v any) (*subject, error) {
		return p.task(v.(*queueapi.QueueTask).TaskID)
	},
	typeOf[executionapi.Execution](): func(p *pass, v any) (*subject, error) {
		return p.task(v.(*executionapi.Execution).ID)
	},
})

func joined(a, b map[reflect.Type]subjectOf) map[reflect.Type]subjectOf {
	maps.Copy(a, b)
	return a
}

// inputs are the fields with the context of a task: its pointers count from the root. In other fields they match at any
// depth, because those may contain the context.
var inputs = map[reflect.Type]map[string]bool{
	typeOf[tasker.Task]():            {"Context": true},
	typeOf[schedules.Spec]():         {"Context": true},
	typeOf[tasker.EditedContext]():   {"Context": true, "OldContext": true},
	typeOf[tasker.ContextEdit]():     {"OldContext": true, "Merge": true},
	typeOf[queueapi.QueueTask]():     {"Parameters": true},
	typeOf[executionapi.Execution](): {"Parameters": true},
}

// wholes mask more than one JSON value.
var wholes = map[reflect.Type]func(*subject, any){
	typeOf[operate.AuditRecord]():     maskAct,
	typeOf[deadletters.Content]():     maskContent,
	typeOf[deadletters.Edit]():        maskEdit,
	typeOf[deadletters.Occurrence]():  maskOccurrence,
	typeOf[deadletters.DeadMessage](): maskMessage,
	typeOf[deadletters.PreviewItem](): maskChanges,
	typeOf[dlqapi.Job]():              maskJob,
}

// without are the types whose JSON values are no payloads.
var without = map[reflect.Type]bool{}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// all hides everything: its rule is unknown.
var all = &subject{set: sensitive.All()}

func (p *pass) task(id uuid.UUID) (*subject, error) {
	return p.once(id, func() (sensitive.Rule, error) { return p.rules.OfTask(p.ctx, id) })
}

type template struct{ namespace, name, version string }

func (p *pass) shownTask(t *tasker.Task) (*subject, error) {
	if len(t.Context) == 0 {
		return nil, nil
	}
	if t.Intake != nil || t.Version != "" && t.Name == "" || t.Damage != "" {
		return p.task(t.TaskUUID)
	}
	if t.Version == "" {
		return &subject{}, nil // of one handler, without a template
	}
	return p.template(t.Namespace, t.Name, t.Version)
}

// scheduled is about the template that the schedule runs.
func (p *pass) scheduled(of *schedules.Spec) (*subject, error) {
	if of.Template == "" || len(of.Context) == 0 {
		return &subject{}, nil
	}
	return p.template(cmp.Or(of.Namespace, "default"), of.Template, of.TemplateVersion)
}

func (p *pass) template(namespace, name, version string) (*subject, error) {
	return p.once(template{namespace, name, version}, func() (sensitive.Rule, error) {
		return p.rules.OfTemplate(p.ctx, namespace, name, version)
	})
}

type source struct{ namespace, name string }

func (p *pass) source(namespace, name string) (*subject, error) {
	return p.once(source{namespace, name}, func() (sensitive.Rule, error) {
		return p.rules.OfSource(p.ctx, namespace, name)
	})
}

func (p *pass) failedTask(t *operate.FailedTask) (*subject, error) {
	if t.LastError == nil || len(t.LastError.Details) == 0 {
		return nil, nil
	}
	return p.task(t.TaskID)
}

// act is about its task. Acts outlive tasks; then the newest version of the template has the rule.
func (p *pass) act(a *operate.AuditRecord) (*subject, error) {
	switch {
	case len(a.Data) == 0:
		return nil, nil
	case a.TaskUUID == uuid.Nil && a.Template == "":
		return nil, nil
	case a.TaskUUID == uuid.Nil: // on a schedule, or on a template
		return p.template(a.Namespace, a.Template, "")
	}
	return p.once(a.TaskUUID, func() (sensitive.Rule, error) {
		rule, err := p.rules.OfTask(p.ctx, a.TaskUUID)
		if tasker.ErrorCode(err) != tasker.CodeNotFound || a.Template == "" {
			return rule, err
		}
		rule, err = p.rules.OfTemplate(p.ctx, a.Namespace, a.Template, "")
		if tasker.ErrorCode(err) == tasker.CodeNotFound {
			return sensitive.Rule{}, nil // of one handler, without a template
		}
		return rule, err
	})
}

// maskAct marks an act with masked data: its hash cannot be checked.
func maskAct(about *subject, v any) {
	a := v.(*operate.AuditRecord)
	data, masked := about.set.Anywhere(a.Data)
	a.Data, a.DataMasked = data, masked || a.DataMasked
}

// once looks a rule up once per answer. A missing object hides everything.
func (p *pass) once(key any, find func() (sensitive.Rule, error)) (*subject, error) {
	if known := p.known[key]; known != nil {
		return known, nil
	}
	rule, err := find()
	if tasker.ErrorCode(err) == tasker.CodeNotFound {
		p.known[key] = all
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	about, err := p.subject(rule)
	if err == nil {
		p.known[key] = about
	}
	return about, err
}

// subject: a task made from a message also has the rule of its source, both for the context and for a context that
// contains the message.
func (p *pass) subject(rule sensitive.Rule) (*subject, error) {
	pointers := rule.Pointers
	if rule.Source != "" {
		of, err := p.rules.OfSource(p.ctx, rule.Namespace, rule.Source)
		if err != nil {
			return nil, err
		}
		pointers = append(pointers[:len(pointers):len(pointers)], of.InTask()...)
	}
	about := &subject{set: sensitive.Lenient(pointers)}
	for _, name := range rule.Headers {
		if about.headers == nil {
			about.headers = map[string]bool{}
		}
		about.headers[strings.ToLower(name)] = true
	}
	return about, nil
}
