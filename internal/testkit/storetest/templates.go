package storetest

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func templateCases() []testCase {
	return []testCase{
		{"EveryFieldComesBack", templateRoundTrip},
		{"InsertAgain", templateInsertAgain},
		{"SeenInItsTransaction", templateSeenInTx},
		{"FindByVersion", templateByVersion},
		{"FindUnknown", templateUnknown},
		{"AdhocApart", templateAdhocApart},
		{"List", templateList},
	}
}

func (f *fixture) register(list ...*task.Template) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, t := range list {
			if existing, err := tx.InsertTemplate(ctx, t); err != nil {
				return err
			} else if existing != nil {
				return fmt.Errorf("template %s %s exists", t.Name, t.Version)
			}
		}
		return nil
	})
}

func (f *fixture) findTemplate(namespace, name, version string) *task.Template {
	f.Helper()
	t, err := f.store.FindTemplate(f.Context(), namespace, name, version)
	f.must(err)
	return t
}

func templateRoundTrip(f *fixture) {
	bare := &task.Template{Namespace: "n", Name: "bare", Version: "0", CreatedAt: f.now.Time(),
		Steps: []task.StepSpec{{Name: "only", Handler: "h"}}}
	bare.Link()
	zero := 0
	low := &task.Template{Namespace: "n", Name: "low", Version: "0", Priority: &zero, CreatedAt: f.now.Time(),
		Steps: []task.StepSpec{{Name: "only", Handler: "h", Priority: &zero}}}
	low.Link()
	f.register(bare, low)
	for _, want := range []*task.Template{f.diamond, bare, low} {
		if want.DefID <= 0 {
			f.Errorf("the template %s got the key %d", want.Name, want.DefID)
		}
		f.equal("found by name", f.findTemplate(want.Namespace, want.Name, want.Version), want)
		got, err := f.store.FindTemplateByDef(f.Context(), want.DefID)
		f.must(err)
		f.equal("found by key", got, want)
	}
}

func templateInsertAgain(f *fixture) {
	changed := diamond("default", "diamond", "1")
	changed.Description, changed.Fingerprint = "other", "other"
	f.write(func(ctx context.Context, tx engine.Tx) error {
		existing, err := tx.InsertTemplate(ctx, changed)
		f.equal("existing", existing, f.diamond)
		return err
	})
	f.equal("stored", f.findTemplate("default", "diamond", ""), f.diamond)
}

func templateSeenInTx(f *fixture) {
	fresh := diamond("default", "fresh", "1")
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if _, err := tx.InsertTemplate(ctx, fresh); err != nil {
			return err
		}
		got, err := tx.Template(ctx, fresh.DefID)
		f.equal("the fresh one", got, fresh)
		if err != nil {
			return err
		}
		got, err = tx.Template(ctx, f.diamond.DefID)
		f.equal("the old one", got, f.diamond)
		if err != nil {
			return err
		}
		got, err = tx.Template(ctx, fresh.DefID+1000)
		f.equal("an unknown one", got, (*task.Template)(nil))
		return err
	})
}

func templateByVersion(f *fixture) {
	// Neither the text of a version nor its creation time decides which is newest.
	ten, two := diamond("default", "v", "10"), diamond("default", "v", "2")
	ten.CreatedAt = two.CreatedAt.AddDate(1, 0, 0)
	elsewhere := diamond("other", "v", "3")
	f.register(ten, two, elsewhere)
	f.equal("version 10", f.findTemplate("default", "v", "10"), ten)
	f.equal("newest", f.findTemplate("default", "v", ""), two)
	f.equal("newest elsewhere", f.findTemplate("other", "v", ""), elsewhere)
}

func templateUnknown(f *fixture) {
	none := (*task.Template)(nil)
	f.equal("name", f.findTemplate("default", "nope", ""), none)
	f.equal("namespace", f.findTemplate("nope", "diamond", ""), none)
	f.equal("version", f.findTemplate("default", "diamond", "2"), none)
	f.equal("case", f.findTemplate("default", "Diamond", "1"), none)
	got, err := f.store.FindTemplateByDef(f.Context(), 987_654)
	f.must(err)
	f.equal("key", got, none)
	got, err = f.store.FindAdhoc(f.Context(), "default", "nope")
	f.must(err)
	f.equal("handler", got, none)
}

// A handler's stand-in never passes for a registered template of its name.
func templateAdhocApart(f *fixture) {
	named := diamond("default", "a", "")
	f.register(named)
	f.equal("template", f.findTemplate("default", "a", ""), named)
	got, err := f.store.FindAdhoc(f.Context(), "default", "a")
	f.must(err)
	f.equal("stand-in", got, f.single)
	got, err = f.store.FindAdhoc(f.Context(), "default", "diamond")
	f.must(err)
	f.equal("stand-in for the name of a template", got, (*task.Template)(nil))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		existing, err := tx.InsertTemplate(ctx, task.Adhoc("default", "a"))
		f.equal("existing", existing, f.single)
		return err
	})
}

func templateList(f *fixture) {
	var names []string
	for i := range 7 {
		ns := []string{"default", "other"}[i%2]
		f.register(diamond(ns, fmt.Sprintf("t%d", i/2), fmt.Sprint(i)))
		names = append([]string{fmt.Sprintf("%s/t%d/%d", ns, i/2, i)}, names...)
	}
	all := append(names, "default/diamond/1")
	list := func(filter engine.TemplateFilter) []string {
		var out []string
		for {
			page, err := f.store.ListTemplates(f.Context(), filter)
			f.must(err)
			if len(page) > filter.Limit {
				f.Fatalf("a page of %d templates with the limit %d", len(page), filter.Limit)
			}
			for _, t := range page {
				out = append(out, t.Namespace+"/"+t.Name+"/"+t.Version)
				filter.Below = t.DefID
			}
			if len(page) == 0 {
				return out
			}
		}
	}
	f.equal("all", list(engine.TemplateFilter{Limit: 100}), all)
	f.equal("in pages", list(engine.TemplateFilter{Limit: 3}), all)
	f.equal("by name", list(engine.TemplateFilter{Name: "t1", Limit: 1}), []string{"other/t1/3", "default/t1/2"})
	f.equal("by namespace", list(engine.TemplateFilter{Namespace: "other", Limit: 2}),
		[]string{"other/t2/5", "other/t1/3", "other/t0/1"})
	f.equal("by both", list(engine.TemplateFilter{Namespace: "other", Name: "t2", Limit: 2}), []string{"other/t2/5"})
	f.equal("by none there is", list(engine.TemplateFilter{Name: "a", Limit: 2}), []string(nil))
}
