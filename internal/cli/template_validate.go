package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// newTemplateValidate needs no server; names of priorities come from its configuration.
func newTemplateValidate(s *session) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "validate FILE...",
		Short:   "Validate templates without a server",
		Example: `  tasker template validate order.yaml`,
		Long: `Validate templates without a server; - is standard input. The command prints each
problem with file:line:column and exits with 7 if there are any. "lint" also warns, and
reads directories.`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringVar(&file, "config", "",
		"configuration of the server, if it defines its own priorities (default $TASKER_CONFIG, else none)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		cfg, err := s.templateConfig(file)
		if err != nil {
			return err
		}
		return s.validate(args, cfg.Engine.Priorities)
	}
	return cmd
}

type validated struct {
	File        string `json:"file"`
	Namespace   string `json:"namespace_name"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Steps       int    `json:"steps"`
	Fingerprint string `json:"fingerprint"`
}

// validate reports the problems of all files together.
func (s *session) validate(files []string, priorities []settings.PriorityLevel) error {
	level := levelsOf(priorities)
	good := []validated{}
	var bad []*tasker.Error
	for _, file := range files {
		src, err := s.templateSource(file)
		if err != nil {
			return err
		}
		t, refused, err := parseTemplate(src, level)
		if err != nil {
			return err
		}
		if refused != nil {
			bad = append(bad, refused)
			continue
		}
		good = append(good, validated{src.Filename, t.Namespace, t.Name, t.Version, len(t.Steps), t.Fingerprint})
	}
	if err := s.printValidated(good); err != nil {
		return err
	}
	// The valid templates are printed first.
	return merge(bad)
}

// A refused template has a detail per problem in the second result.
func parseTemplate(src tasker.TemplateSource, levels template.Levels) (*task.Template, *tasker.Error, error) {
	t, err := template.Parse(src.Filename, []byte(src.YAML), levels)
	var problem *task.Error
	if errors.As(err, &problem) {
		return nil, publicError(src.Filename, problem), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read template %s: %w", src.Filename, err)
	}
	return t, nil, nil
}

// An unknown name is a problem of the template.
func levelsOf(priorities []settings.PriorityLevel) template.Levels {
	return func(name string) (int, bool) {
		i := slices.IndexFunc(priorities, func(p settings.PriorityLevel) bool { return p.Name == name })
		if i < 0 {
			return 0, false
		}
		return priorities[i].Level, true
	}
}

func (s *session) printValidated(good []validated) error {
	if s.json {
		return s.printList("templates", good)
	}
	for _, v := range good {
		if err := s.printf("✓ %s: %s version %s is valid (%d steps)\n",
			v.File, qualified(v.Namespace, v.Name), v.Version, v.Steps); err != nil {
			return err
		}
	}
	return nil
}

// publicError converts the parser's problems; one of the whole file has the file's name.
func publicError(file string, e *task.Error) *tasker.Error {
	out := &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint}
	for _, p := range e.Problems {
		out.Details = append(out.Details, tasker.Detail(p))
	}
	if len(out.Details) == 0 {
		out.Details = []tasker.Detail{{Location: file, Message: e.Message}}
	}
	return out
}

func merge(errs []*tasker.Error) error {
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	all := tasker.Errorf(tasker.CodeInvalid, "%d templates have problems", len(errs))
	for _, e := range errs {
		all.Details = append(all.Details, e.Details...)
	}
	return all
}
