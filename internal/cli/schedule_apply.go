package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/schedules"
)

// newScheduleApply checks all files first, then saves the schedules one by one up to the first refusal. An
// unchanged schedule stays, so that deployments can repeat the command. --json prints schedules.SavedSchedules.
func newScheduleApply(s *session) *cobra.Command {
	var a scheduleAct
	var dry bool
	cmd := &cobra.Command{
		Use:   "apply FILE...",
		Short: "Create or update schedules from files",
		Long: `Create or update schedules from YAML or JSON files, - for standard input. A file has one
schedule, or a list of them under schedules. A setting that it omits takes its default.
Problems have file:line:column. --dry-run checks on the server and shows what would change.`,
		Example: `  tasker schedule apply schedules.yaml --dry-run`,
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and save nothing")
	actFlags(cmd, &a.act)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var list []writtenSchedule
		for _, file := range args {
			read, err := s.schedulesIn(file)
			if err != nil {
				return err
			}
			list = append(list, read...)
		}
		return s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return s.applySchedules(ctx, c, list, a.signed(), dry)
		})(cmd, args)
	}
	return cmd
}

// writtenSchedule is a schedule with the places of its settings in a file.
type writtenSchedule struct {
	file string
	node *document.Node
	spec schedules.Spec
}

var scheduleLimits = document.Limits{Marks: 1_000_000, Entries: 50_000, Depth: 200, Nodes: 1_000_000, Merged: 100_000,
	Digits: 1000}

func (s *session) schedulesIn(file string) ([]writtenSchedule, error) {
	src, err := s.readFile(file)
	if err != nil {
		return nil, err
	}
	if file == "-" {
		file = "stdin"
	}
	problems := tasker.Errorf(tasker.CodeInvalid, "%s has problems; nothing was applied", file)
	report := func(at document.Position, message string) {
		problems.Details = append(problems.Details, tasker.Detail{Location: placeOf(file, at), Message: message})
	}
	root := document.Parse(src, document.Options{What: "a file of schedules", Limits: scheduleLimits, Report: report})
	var list []writtenSchedule
	switch {
	case len(problems.Details) > 0:
	case root == nil || root.Kind == document.Null:
		report(document.Position{Line: 1, Column: 1}, "the file is empty")
	case root.Kind == document.Mapping && root.Get("schedules") != nil:
		for _, p := range root.Pairs {
			if p.Key != "schedules" {
				report(p.At, fmt.Sprintf("%q stands beside schedules: a file has one schedule, or a list of them", p.Key))
			}
		}
		nodes := root.Get("schedules")
		if nodes.Kind != document.List {
			report(nodes.At, "schedules must be a list")
		}
		for _, node := range nodes.Items {
			list = append(list, readSchedule(file, node, report))
		}
	default:
		list = append(list, readSchedule(file, root, report))
	}
	if len(problems.Details) > 0 {
		return nil, problems
	}
	return list, nil
}

func placeOf(file string, at document.Position) string {
	return fmt.Sprintf("%s:%d:%d", file, at.Line, at.Column)
}

func scheduleSettings() []string {
	var names []string
	for t, i := reflect.TypeFor[schedules.Spec](), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// readSchedule reports what no server accepts.
func readSchedule(file string, node *document.Node, report func(document.Position, string)) writtenSchedule {
	out := writtenSchedule{file: file, node: node}
	if node.Kind != document.Mapping {
		report(node.At, fmt.Sprintf("a schedule must be a mapping, not %s", node.Kind))
		return out
	}
	known := scheduleSettings()
	unknown := false
	for _, p := range node.Pairs {
		if !slices.Contains(known, p.Key) {
			unknown = true
			message := fmt.Sprintf("a schedule has no setting %q", p.Key)
			if near := wording.Nearest(p.Key, known, 3); near != "" {
				message += fmt.Sprintf("; did you mean %q?", near)
			}
			report(p.At, message)
		}
	}
	if unknown {
		return out
	}
	text, err := json.Marshal(node.Value())
	if err != nil {
		report(node.At, err.Error())
		return out
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var wrong *json.UnmarshalTypeError
	switch err := d.Decode(&out.spec); {
	case errors.As(err, &wrong):
		report(node.Follow("/"+strings.ReplaceAll(wrong.Field, ".", "/")).At,
			fmt.Sprintf("%s must not be %s", wrong.Field, wrong.Value))
	case err != nil:
		report(placeOfTime(node), err.Error())
	}
	return out
}

// placeOfTime finds the first invalid time, because the decoder's error names no field.
func placeOfTime(node *document.Node) document.Position {
	for _, name := range []string{"start_at", "end_at"} {
		if n := node.Get(name); n != nil {
			text, err := json.Marshal(n.Value())
			var spec schedules.Spec
			if err != nil || json.Unmarshal([]byte(`{"`+name+`":`+string(text)+`}`), &spec) != nil {
				return n.At
			}
		}
	}
	return node.At
}

func (s *session) applySchedules(ctx context.Context, c *tasker.Client, list []writtenSchedule,
	act schedules.ScheduleAct, dry bool,
) error {
	all := []*schedules.SavedSchedule{}
	for i := range list {
		w := &list[i]
		saved, err := schedules.Of(c).Save(ctx, schedules.ScheduleRequest{Spec: w.spec, ScheduleAct: act, DryRun: dry})
		if err != nil {
			return w.placed(err)
		}
		if all = append(all, saved); s.json {
			continue
		}
		if err := s.printSaved(saved); err != nil {
			return err
		}
	}
	if s.json {
		return s.printList("schedules", all)
	}
	return nil
}

// placed adds the places of the file to a refusal.
func (w *writtenSchedule) placed(err error) error {
	var e *tasker.Error
	if !errors.As(err, &e) {
		return err
	}
	slices.SortStableFunc(e.Details, func(a, b tasker.Detail) int { // in file order
		x, y := w.node.Follow(a.Location).At, w.node.Follow(b.Location).At
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	for i, d := range e.Details {
		if strings.HasPrefix(d.Location, "/") {
			e.Details[i] = tasker.Detail{Location: placeOf(w.file, w.node.Follow(d.Location).At),
				Message: strings.ReplaceAll(d.Location[1:], "/", ".") + " " + d.Message}
		}
	}
	return err
}

func (s *session) printSaved(saved *schedules.SavedSchedule) error {
	verb := saved.Outcome
	if saved.DryRun && verb != schedules.Unchanged {
		verb = "would be " + verb
	}
	if err := s.printf("✓ Schedule %s: %s, next %s\n", qualified(saved.Namespace, saved.Name), verb,
		nextOf(&saved.Schedule)); err != nil {
		return err
	}
	for _, change := range saved.Changes {
		if saved.Outcome == schedules.Created {
			if !saved.DryRun {
				continue
			}
			if err := s.printf("  + %s: %s\n", change.Field, change.After); err != nil {
				return err
			}
			continue
		}
		if err := s.printf("  - %s: %s\n  + %s: %s\n", change.Field, change.Before, change.Field, change.After); err != nil {
			return err
		}
	}
	return nil
}
