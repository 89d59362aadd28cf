package scenario_test

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sealed"
)

type keys struct{ all, others *vault.Ring }

func newKeys() (k keys, err error) {
	other := vault.Generate("other")
	if k.others, err = vault.Parse(other); err == nil {
		k.all, err = vault.Parse(vault.Generate("first") + "\n" + other)
	}
	return k, err
}

// sealedTemplates have sensitive values on which all decisions of a node depend.
func sealedTemplates(quick, none task.Retry) []*task.Template {
	return []*task.Template{
		{Name: "sealed", Sensitive: []string{"/cards", "/secret"}, Steps: []task.StepSpec{
			{Name: "a", Handler: "h", When: "context.secret > 1", Retry: quick},
			{Name: "each", Tasks: &task.ChildSpec{Items: "context.cards", Handler: "i", Concurrency: 2}},
			{Name: "b", Handler: "i", Dependencies: []string{"a", "each"}, Retry: none}}},
	}
}

func (m *model) key(o op) error {
	return m.setKey(!m.worlds[0].keyless && o.n[0]%2 == 0)
}

// setKey restarts the server without a key, or with all. With a dispatcher it has all: there, a step that cannot be
// handed out is leased and given back, so tokens and places would differ between the worlds.
func (m *model) setKey(missing bool) error {
	if _, is := m.worlds[len(m.worlds)-1].store.(dispatched); is || m.worlds[0].keyless == missing {
		return nil
	}
	for _, w := range m.worlds {
		w.keyless, w.seals = missing, sealed.New(m.keys.all, sealed.Options{})
		if missing {
			w.seals = sealed.New(m.keys.others, sealed.Options{})
		}
	}
	return m.restart()
}

func (m *model) unread(t *task.Template) bool { return m.worlds[0].keyless && len(t.Sensitive) > 0 }

// ciphers are encrypted values, which differ between stores.
var ciphers = regexp.MustCompile(regexp.QuoteMeta(vault.Prefix) + `[^"\\]*`)

// withoutCiphers makes documents comparable that cannot be decrypted.
func withoutCiphers(doc []byte) []byte { return ciphers.ReplaceAll(doc, []byte("encrypted")) }

func decrypted() cmp.Option {
	sealed := func(a, b []byte) bool {
		return bytes.Contains(a, []byte(vault.Prefix)) && bytes.Contains(b, []byte(vault.Prefix))
	}
	return cmp.FilterValues(sealed, cmp.Comparer(func(a, b []byte) bool {
		return bytes.Equal(withoutCiphers(a), withoutCiphers(b))
	}))
}

func (m *model) hide(o op) error {
	var subs []engine.Submission
	for i := range 4 {
		s := engine.Submission{Name: "each", Context: []byte(`{"items":[1,2,3]}`)}
		if o.n[0]>>i%2 == 0 {
			s = engine.Submission{Name: "sealed", Context: fmt.Appendf(nil, `{"cards":[1,2,3],"secret":%d}`, o.n[1]%4)}
		}
		subs = append(subs, s)
	}
	return firstError(m.accept(subs[:2]), m.setKey(true), m.accept(subs[2:]), m.after(), m.noteChildren(),
		m.do(op{kind: "work", n: o.n}), m.do(op{kind: "advance", n: [6]uint32{o.n[2] % 5, 1}}), m.do(op{kind: "upkeep"}))
}
