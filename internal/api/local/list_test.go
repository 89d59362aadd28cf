package local_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

func names(page *tasker.TaskPage) string {
	var out []string
	for _, task := range page.Tasks {
		out = append(out, task.CorrelationID)
	}
	return strings.Join(out, " ")
}

func TestTaskFilters(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, pair)
		r.submit(t, tasker.TaskRequest{Name: "pair", CorrelationID: "template"})
		r.wait(t, time.Second)
		r.submit(t, tasker.TaskRequest{TaskType: "h", CorrelationID: "urgent", Priority: tasker.High,
			Tags: []string{"red", "blue"}})
		r.wait(t, time.Second)
		r.submit(t, tasker.TaskRequest{TaskType: "h", Namespace: "other", CorrelationID: "elsewhere",
			Priority: tasker.Level(7), Tags: []string{"red"}})
		r.wait(t, time.Second)
		r.cancel(t, r.submit(t, tasker.TaskRequest{TaskType: "gone", CorrelationID: "cancelled"}))
		ancient := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		second, third := noon.Add(time.Second), noon.Add(2*time.Second)

		for name, test := range map[string]struct {
			filter tasker.TaskFilter
			want   string
		}{
			"All":   {tasker.TaskFilter{}, "cancelled elsewhere urgent template"},
			"State": {tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskCancelled}}, "cancelled"},
			"States": {tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskCancelled, tasker.TaskStepsInProcess}},
				"cancelled elsewhere urgent template"},
			"Namespace":     {tasker.TaskFilter{Namespace: "other"}, "elsewhere"},
			"Name":          {tasker.TaskFilter{Name: "h"}, "elsewhere urgent"},
			"Version":       {tasker.TaskFilter{Name: "pair", Version: "1"}, "template"},
			"OtherVersion":  {tasker.TaskFilter{Name: "pair", Version: "2"}, ""},
			"Tag":           {tasker.TaskFilter{Tag: "red"}, "elsewhere urgent"},
			"PartOfATag":    {tasker.TaskFilter{Tag: "re"}, ""},
			"TagWildcard":   {tasker.TaskFilter{Tag: "%"}, ""},
			"CorrelationID": {tasker.TaskFilter{CorrelationID: "urgent"}, "urgent"},
			"Priority":      {tasker.TaskFilter{Priority: tasker.High}, "urgent"},
			"PriorityLevel": {tasker.TaskFilter{Priority: "7"}, "elsewhere"},
			"After":         {tasker.TaskFilter{CreatedAfter: &second}, "cancelled elsewhere urgent"},
			"Before":        {tasker.TaskFilter{CreatedBefore: &third}, "urgent template"},
			"Between":       {tasker.TaskFilter{CreatedAfter: &second, CreatedBefore: &third}, "urgent"},
			"Several":       {tasker.TaskFilter{Tag: "red", Namespace: "default"}, "urgent"},
			"Hostile":       {tasker.TaskFilter{Name: "h' OR 1=1 --", Tag: "%"}, ""},
			"FullPage":      {tasker.TaskFilter{Limit: 1000}, "cancelled elsewhere urgent template"},
		} {
			page, err := r.Tasks(t.Context(), test.filter)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if got := names(page); got != test.want || page.NextCursor != "" {
				t.Errorf("%s: got %q, then %q; want %q, then nothing", name, got, page.NextCursor, test.want)
			}
		}

		for name, test := range map[string]struct {
			filter tasker.TaskFilter
			places string
			words  string
		}{
			"State": {tasker.TaskFilter{States: []tasker.TaskState{"done"}}, "state", `there is no task state "done"`},
			"StepState": {tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskState(tasker.StepEnqueued)}}, "state",
				"enqueued"},
			"Priority":     {tasker.TaskFilter{Priority: "soon"}, "priority", `"soon" is not a priority`},
			"PriorityHigh": {tasker.TaskFilter{Priority: "101"}, "priority", "101"},
			"Cursor":       {tasker.TaskFilter{Cursor: "page 2"}, "cursor", "is not a cursor"},
			"All": {tasker.TaskFilter{States: []tasker.TaskState{"x", "y"}, Priority: "z", Cursor: "?"},
				"state state priority cursor", ""},
			"Controls": {tasker.TaskFilter{Namespace: "\x00", Name: "a\nb", Version: "\x1b", Tag: "\x7f",
				CorrelationID: "\u0085", Initiator: "\xff"},
				"namespace name version tag correlation_id initiator", "contains the control character U+0000"},
			"LongName": {tasker.TaskFilter{Name: strings.Repeat("x", 256)}, "name", "the limit is 255"},
			"Times": {tasker.TaskFilter{CreatedAfter: &ancient, CreatedBefore: &ancient}, "created_after created_before",
				"must be after 1970-01-01T00:00:00Z"},
			"Negative": {tasker.TaskFilter{Limit: -1}, "", "1 to 1000, not -1"},
			"TooMany":  {tasker.TaskFilter{Limit: 1001}, "", "1 to 1000, not 1001"},
		} {
			_, err := r.Tasks(t.Context(), test.filter)
			e := refusal(t, err, tasker.CodeInvalid)
			if places(e) != test.places || !strings.Contains(e.Error(), test.words) {
				t.Errorf("%s: refused at %q: %v", name, places(e), e)
			}
		}
	})
}

func TestTaskPages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		var want []string
		for i := range 7 {
			name := fmt.Sprint("t", i)
			r.submit(t, tasker.TaskRequest{TaskType: "h", CorrelationID: name})
			want = append([]string{name}, want...)
		}
		var got []string
		filter := tasker.TaskFilter{Limit: 3}
		for {
			page, err := r.Tasks(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Tasks) > 3 {
				t.Fatalf("a page of %d tasks, the limit is 3", len(page.Tasks))
			}
			got = append(got, strings.Fields(names(page))...)
			// A new task is newer than the first page, and does not disturb.
			r.submit(t, tasker.TaskRequest{TaskType: "h", CorrelationID: "late"})
			if filter.Cursor = page.NextCursor; filter.Cursor == "" {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the pages hold %v, want %v", got, want)
		}
	})
}

func TestTemplates(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		register := func(yaml string) (*tasker.Template, error) {
			return r.RegisterTemplate(ctx, tasker.TemplateSource{YAML: yaml, Filename: "flow.yaml"})
		}
		first, err := register(pair)
		if err != nil || !first.Created || first.Namespace != "default" || first.YAML != pair || len(first.Steps) != 2 {
			t.Fatalf("registered as %+v, %v", first, err)
		}
		r.wait(t, time.Minute)
		again, err := register("# only the looks are other\n" + pair)
		if err != nil || again.Created || again.Fingerprint != first.Fingerprint || !again.CreatedAt.Equal(first.CreatedAt) ||
			again.YAML != pair {
			t.Errorf("registered again as %+v, %v", again, err)
		}
		_, err = register(strings.Replace(pair, "timeout_seconds: 600", "timeout_seconds: 60", 1))
		if e := refusal(t, err, tasker.CodeConflict); !strings.Contains(e.Message, "version 1 of template default/pair") ||
			!strings.Contains(e.Hint, "raise the version") {
			t.Errorf("the conflict says %v", e)
		}
		if stored, err := r.Template(ctx, "", "pair", "1"); err != nil || stored.Steps[0].TimeoutSeconds != 600 {
			t.Errorf("after the conflict it is %+v, %v", stored, err)
		}
		second, err := register(strings.Replace(pair, `version: "1"`, `version: "2"`, 1))
		if err != nil || !second.Created {
			t.Fatalf("version 2: %+v, %v", second, err)
		}
		if newest, err := r.Template(ctx, "default", "pair", ""); err != nil || newest.Version != "2" {
			t.Errorf("the newest is %+v, %v", newest, err)
		}
		if _, err := register(
			"name: other\nnamespace_name: ops\nversion: \"1\"\nsteps: [{name: a, handler: h}]"); err != nil {
			t.Fatal(err)
		}
		r.submit(t, tasker.TaskRequest{TaskType: "h"}) // a task without a template leaves none behind

		for name, test := range map[string]struct {
			filter tasker.TemplateFilter
			want   string
		}{
			"All":       {tasker.TemplateFilter{}, "ops/other:1 default/pair:2 default/pair:1"},
			"Namespace": {tasker.TemplateFilter{Namespace: "ops"}, "ops/other:1"},
			"Name":      {tasker.TemplateFilter{Name: "pair"}, "default/pair:2 default/pair:1"},
			"None":      {tasker.TemplateFilter{Name: "h"}, ""},
		} {
			for _, limit := range []int{1, 2, 1000} {
				filter := test.filter
				filter.Limit = limit
				var got []string
				for {
					page, err := r.Templates(ctx, filter)
					if err != nil {
						t.Fatal(err)
					}
					for _, tpl := range page.Templates {
						if tpl.YAML != "" || tpl.Steps != nil {
							t.Errorf("%s: the list carries the whole of %s", name, tpl.Name)
						}
						got = append(got, tpl.Namespace+"/"+tpl.Name+":"+tpl.Version)
					}
					if filter.Cursor = page.NextCursor; filter.Cursor == "" {
						break
					}
				}
				if list := strings.Join(got, " "); list != test.want {
					t.Errorf("%s by %d: got %s, want %s", name, limit, list, test.want)
				}
			}
		}
		for _, cursor := range []string{"?", "-1", "0", uuid.NewString()} {
			_, err := r.Templates(ctx, tasker.TemplateFilter{Cursor: cursor})
			if e := refusal(t, err, tasker.CodeInvalid); places(e) != "cursor" {
				t.Errorf("the cursor %q is refused with %v", cursor, e)
			}
		}
		for _, limit := range []int{-1, 1001} {
			_, err := r.Templates(ctx, tasker.TemplateFilter{Limit: limit})
			refusal(t, err, tasker.CodeInvalid)
		}
	})
}

func TestBadTemplates(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		for name, test := range map[string]struct {
			yaml  string
			code  tasker.Code
			words []string
		}{
			"Cycle": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: h, dependencies: [b]}\n  - {name: b, handler: " +
				"h, dependencies: [a]}\n",
				tasker.CodeInvalid, []string{"f.yaml:5:", "a -> b -> a"}},
			"UnknownField": {"name: c\nversion: \"1\"\nstep: []\n", tasker.CodeInvalid, []string{"f.yaml:3:1", "step"}},
			"Handler": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: \"a\\tb\"}\n", tasker.CodeInvalid,
				[]string{"f.yaml:4:", "control characters"}},
			"LongHandler": {"name: c\nversion: \"1\"\nsteps:\n  - {name: a, handler: " + strings.Repeat("h", 300) + "}\n",
				tasker.CodeInvalid, []string{"f.yaml:4:", "255"}},
			"BrokenYAML": {"name: [", tasker.CodeInvalid, []string{"f.yaml:1:"}},
			"Empty":      {"", tasker.CodeInvalid, []string{"f.yaml:"}},
			"TooLarge":   {"# " + strings.Repeat("x", 1<<20), tasker.CodeTooLarge, []string{"1048578 bytes", "1048576"}},
			"BadSchema": {"name: c\nversion: \"1\"\ninput_schema: {type: nothing}\nsteps: [{name: a, handler: h}]\n",
				tasker.CodeInvalid, []string{"f.yaml:3:"}},
		} {
			_, err := r.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: test.yaml, Filename: "f.yaml"})
			e := refusal(t, err, test.code)
			for _, word := range test.words {
				if !strings.Contains(e.Error(), word) {
					t.Errorf("%s: the refusal does not say %q: %v", name, word, e)
				}
			}
			if len(e.Error()) > 10_000 {
				t.Errorf("%s: the refusal has %d bytes", name, len(e.Error()))
			}
		}
		if page, err := r.Templates(t.Context(), tasker.TemplateFilter{}); err != nil || len(page.Templates) != 0 {
			t.Errorf("the store holds %+v, %v", page, err)
		}
	})
}
