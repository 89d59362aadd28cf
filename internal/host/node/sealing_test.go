package node_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/schedules"
	"github.com/taskerhq/tasker/worker/protocol"
)

const sealedTemplate = `name: pay
version: "1"
sensitive: [/card]
steps: [{name: charge, handler: charge}]
`

// keys makes a node's options with named keys, the first of which encrypts.
type keys map[string]string

func (k keys) ring(t *testing.T, ids ...string) *vault.Ring {
	t.Helper()
	var lines []string
	for _, id := range ids {
		if k[id] == "" {
			k[id] = vault.Generate(strings.TrimSuffix(id, "'"))
		}
		lines = append(lines, k[id])
	}
	if len(lines) == 0 {
		return nil
	}
	ring, err := vault.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

type sealedNode struct {
	*node.Node
	t *testing.T
}

func (b sealedNode) submit(card string) { b.submitTo(sealedTemplate, card) }

func (b sealedNode) submitTo(template, card string) {
	b.t.Helper()
	if _, err := b.RegisterTemplate(b.t.Context(), tasker.TemplateSource{YAML: template}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.SubmitTasks(b.t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "pay",
		Context: json.RawMessage(`{"card":"` + card + `"}`)}}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b sealedNode) cards() string {
	b.t.Helper()
	w, err := b.RegisterWorker(b.t.Context(), protocol.WorkerRegistration{Name: "w"})
	if err != nil {
		b.t.Fatal(err)
	}
	polled, err := b.Poll(b.t.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Start: true, Capacity: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, s := range polled.Steps {
		out = append(out, string(s.Parameters))
		if _, err := b.Settle(b.t.Context(), protocol.SettleRequest{WorkerID: w.WorkerID, Results: []protocol.StepResult{{
			StepUUID: s.StepUUID, Token: s.Token, Status: protocol.ResultCompleted}}}); err != nil {
			b.t.Fatal(err)
		}
	}
	return strings.Join(out, " ")
}

// TestKeysRotate: old values are read while their key exists. A node does not start without a needed key or with
// another one of its ID; an unused key may go.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + sqlitetest.File(t) },
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, at := keys{}, dsn(t)
			open := func(use func(b sealedNode), lost []string, ids ...string) error {
				t.Helper()
				b, err := node.Open(t.Context(), at, node.Options{
					Encryption: node.Encryption{Ring: k.ring(t, ids...), Lost: lost}})
				if err != nil {
					return err
				}
				if use != nil {
					use(sealedNode{b, t})
				}
				return b.Close()
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			refused := func(err error, want string) {
				t.Helper()
				if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), want) {
					t.Errorf("it is answered %v, want %s", err, want)
				}
			}
			must(open(func(b sealedNode) { b.submit("1111") }, nil, "a"))
			refused(open(nil, nil), `key "a" is missing: values in tasker_tasks`)
			refused(open(nil, nil, "b"), `key "a" is missing`)
			refused(open(nil, nil, "a'"), `key "a" is not the one`)
			must(open(func(b sealedNode) { b.submit("2222") }, nil, "b", "a"))
			refused(open(nil, nil, "a"), `key "b" is missing`)
			must(open(func(b sealedNode) {
				if got := b.cards(); got != "" {
					t.Errorf("without their keys the steps are handed out: %s", got)
				}
				stored, err := b.Tasks(t.Context(), tasker.TaskFilter{WithContext: true})
				if err != nil || len(stored.Tasks) != 2 || stored.Tasks[0].State == tasker.TaskError ||
					!strings.Contains(stored.Tasks[0].Damage, `key "b"`) || stored.Tasks[0].Context != nil {
					t.Errorf("the tasks are %+v, %v", stored, err)
				}
				steps, err := b.Steps(t.Context(), stored.Tasks[0].TaskUUID)
				if err != nil || len(steps) != 1 || steps[0].Attempts != 0 ||
					!strings.Contains(steps[0].StatusMessage, `the key "b", which this node does not have`) {
					t.Errorf("the steps are %+v, %v", steps, err)
				}
			}, []string{"a", "b"}))
			later := time.Now().Add(2 * time.Minute)
			b, err := node.Open(t.Context(), at, node.Options{Now: func() time.Time { return later },
				Encryption: node.Encryption{Ring: k.ring(t, "b", "a")}})
			must(err)
			must(b.RunOnce(t.Context()))
			if got := (sealedNode{b, t}).cards(); got != `{"card":"1111"} {"card":"2222"}` {
				t.Errorf("with all keys the worker gets %s", got)
			}
			must(b.Close())
		})
	}
}

// TestSealedPass: a step that a node cannot hand out, because it lacks the key, uses no pass of a rate.
func TestSealedPass(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + sqlitetest.File(t) },
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, at, now := keys{}, dsn(t), time.Now()
			open := func(later time.Duration, use func(b sealedNode), lost []string, ids ...string) {
				t.Helper()
				b, err := node.Open(t.Context(), at, node.Options{Now: func() time.Time { return now.Add(later) },
					Encryption: node.Encryption{Ring: k.ring(t, ids...), Lost: lost}})
				if err == nil {
					use(sealedNode{b, t})
					err = b.RunOnce(t.Context())
				}
				if err == nil {
					err = b.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			open(0, func(b sealedNode) {
				b.submitTo(strings.Replace(sealedTemplate, "steps:", "rate_limit: {limit: 1, per: 1h}\nsteps:", 1), "1111")
			}, nil, "a")
			for _, after := range []time.Duration{0, 2 * time.Minute} {
				open(after, func(b sealedNode) {
					if err := b.RunOnce(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got := b.cards(); got != "" {
						t.Errorf("without the key a worker gets %s", got)
					}
				}, []string{"a"})
			}
			open(4*time.Minute, func(b sealedNode) {
				if err := b.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := b.cards(); got != `{"card":"1111"}` {
					t.Errorf("with the key the worker gets %q", got)
				}
			}, nil, "a")
		})
	}
}

func TestKeyGoes(t *testing.T) {
	t.Parallel()
	k, at := keys{}, "sqlite:"+sqlitetest.File(t)
	for _, ids := range [][]string{{"a"}, {"b"}, {"c", "b"}, {}} {
		b, err := node.Open(t.Context(), at, node.Options{Encryption: node.Encryption{Ring: k.ring(t, ids...)}})
		if err != nil {
			t.Fatalf("with %v: %v", ids, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRollingRotation: a node started before a key was added rereads its keys for a new value. Without the key it
// is not ready.
func TestRollingRotation(t *testing.T) {
	t.Parallel()
	k, dsn := keys{}, pgtest.DSN(t)
	reads := atomic.Int32{}
	var added atomic.Bool
	old, err := node.Open(t.Context(), dsn, node.Options{Encryption: node.Encryption{Ring: k.ring(t, "a"),
		Reload: func() (*vault.Ring, error) {
			reads.Add(1)
			if added.Load() {
				return k.ring(t, "a", "b"), nil
			}
			return k.ring(t, "a"), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	k.ring(t, "a", "b")
	bare, err := node.Open(t.Context(), dsn, node.Options{Encryption: node.Encryption{Lost: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	newer, err := node.Open(t.Context(), dsn, node.Options{Encryption: node.Encryption{Ring: k.ring(t, "b", "a")}})
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	for _, b := range []*node.Node{old, bare} {
		if err := b.Ready(t.Context()); err == nil ||
			!strings.Contains(err.Error(), `another node encrypts with the key "b"`) {
			t.Errorf("without the key a node says it is ready: %v", err)
		}
	}
	added.Store(true)
	before := reads.Load()
	(sealedNode{newer, t}).submit("1111")
	(sealedNode{old, t}).submit("2222")
	if got := (sealedNode{old, t}).cards(); got != `{"card":"1111"} {"card":"2222"}` || reads.Load() != before+1 {
		t.Errorf("the old node hands out %s after %d readings of its keys", got, reads.Load()-before)
	}
	if err := old.Ready(t.Context()); err != nil {
		t.Errorf("with the key it is not ready: %v", err)
	}
}

// TestSealedSchedule: a schedule's context is stored encrypted, fires in clear text, and is masked in its acts.
func TestSealedSchedule(t *testing.T) {
	t.Parallel()
	k, path := keys{}, sqlitetest.File(t)
	b, err := node.Open(t.Context(), "sqlite:"+path, node.Options{Encryption: node.Encryption{Ring: k.ring(t, "a")}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: sealedTemplate}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schedules().Save(t.Context(), schedules.ScheduleRequest{Spec: schedules.Spec{Name: "nightly",
		Cron: "0 3 * * *", Template: "pay", Context: json.RawMessage(`{"card":"4111222233334444"}`)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schedules().Run(t.Context(), "default", "nightly", schedules.ScheduleRunRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := (sealedNode{b, t}).cards(); got != `{"card":"4111222233334444"}` {
		t.Errorf("the worker gets %s", got)
	}
	if stored := filesOf(t, path); strings.Contains(stored, "4111222233334444") {
		t.Error("the database has it in clear text")
	}
}

func filesOf(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(raw)
	}
	return out.String()
}
