package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Source is a source of dead letters. Missing fields take the defaults of deadletter.Source; namespace defaults to
// default.
type Source struct {
	Namespace  string
	Name       string
	Driver     string
	URL        string
	Queue      string
	Format     string
	Targets    []string
	MaxReplays int
	MaxOpen    int
	Intake     *Intake
	Policies   []Policy

	Sensitive        []string
	SensitiveHeaders []string
}

// Intake is the intake of a source; see deadletter.Intake.
type Intake struct {
	TaskType        string
	Template        string
	TemplateVersion string
	Priority        string
	MinPriority     string
	MaxPriority     string
	IdempotencyKey  string
	OrderingKey     string
	CorrelationID   string
	Delay           string
	Input           string
	MaxRetries      *int
	TimeoutSeconds  float64
	Tags            []string
	OnFailure       IntakeFailure
}

// IntakeFailure configures the effect of a permanent failure of a task from an intake.
type IntakeFailure struct {
	Write string
}

func (in *Intake) domain() *deadletter.Intake {
	if in == nil {
		return nil
	}
	return &deadletter.Intake{TaskType: in.TaskType, Template: in.Template, TemplateVersion: in.TemplateVersion,
		Priority: in.Priority, MinPriority: in.MinPriority, MaxPriority: in.MaxPriority, IdempotencyKey: in.IdempotencyKey,
		OrderingKey: in.OrderingKey, CorrelationID: in.CorrelationID, Delay: in.Delay,
		Input: deadletter.IntakeInput(in.Input), MaxRetries: in.MaxRetries,
		Timeout: time.Duration(in.TimeoutSeconds * float64(time.Second)), Tags: in.Tags, WriteFailures: in.OnFailure.Write}
}

// DeadLetterSources returns the configured sources with defaults.
func (c *Config) DeadLetterSources() []*deadletter.Source {
	out := make([]*deadletter.Source, len(c.Sources))
	for i, s := range c.Sources {
		s.Namespace = cmp.Or(s.Namespace, "default")
		of := deadletter.Source{Namespace: s.Namespace, Name: s.Name, Driver: s.Driver, URL: s.URL, Queue: s.Queue,
			Format: s.Format, Targets: s.Targets, MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen,
			Intake: s.Intake.domain(), Sensitive: s.Sensitive, SensitiveHeaders: s.SensitiveHeaders}.WithDefaults()
		out[i] = &of
	}
	return out
}

// validateSources applies the rules of the domain and reports each problem at its line. The server checks an unknown
// driver at its start.
func (l *loader) validateSources() {
	first := map[deadletter.SourceKey]int{}
	for i, s := range l.cfg.DeadLetterSources() {
		path := fmt.Sprintf("sources[%d]", i)
		for _, p := range s.Validate() {
			at := path + fieldPath(p.Location)
			l.problem(l.place(at), at+" %s", p.Message)
		}
		if err := driver.Missing(s.Driver); err != nil {
			l.problem(l.place(path+".driver"), "%s.driver: %v", path, err)
		}
		l.validatePolicies(path, s, l.cfg.Sources[i].Policies)
		if of, twice := first[s.Key()]; twice {
			l.problem(l.place(path+".name"), "%s.name is the name of sources[%d] too", path, of)
		} else {
			first[s.Key()] = i
		}
	}
}

// fieldPath converts a JSON pointer to the notation of settings: /targets/0 to .targets[0].
func fieldPath(pointer string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]")
		} else {
			b.WriteString("." + part)
		}
	}
	return b.String()
}
