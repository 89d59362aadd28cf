package config

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// Source is a source of dead letters. Fields that are not given take the defaults of deadletter.Source; namespace
// defaults to default.
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
}

// DeadLetterSources returns the configured sources as the domain knows them, with the defaults filled in.
func (c *Config) DeadLetterSources() []*deadletter.Source {
	out := make([]*deadletter.Source, len(c.Sources))
	for i, s := range c.Sources {
		if s.Namespace == "" {
			s.Namespace = "default"
		}
		of := deadletter.Source{Namespace: s.Namespace, Name: s.Name, Driver: s.Driver, URL: s.URL, Queue: s.Queue,
			Format: s.Format, Targets: s.Targets, MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen}.WithDefaults()
		out[i] = &of
	}
	return out
}

// validateSources checks the rules of the domain, and reports each problem at its line. The server checks at its start
// whether it has the driver.
func (l *loader) validateSources() {
	first := map[string]int{}
	for i, s := range l.cfg.DeadLetterSources() {
		path := fmt.Sprintf("sources[%d]", i)
		for _, p := range s.Validate() {
			at := path + fieldPath(p.Location)
			l.problem(l.place(at), at+" %s", p.Message)
		}
		name := s.Namespace + "/" + s.Name
		if of, twice := first[name]; twice {
			l.problem(l.place(path+".name"), "%s.name is the name of sources[%d] too", path, of)
		} else {
			first[name] = i
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
