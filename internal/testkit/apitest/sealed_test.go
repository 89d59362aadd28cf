package apitest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

// TestSealedIsMasked: encrypted sensitive values are masked like clear ones, and the database has none in clear text:
// neither the file of SQLite, with its log and free pages, nor any row of PostgreSQL.
func TestSealedIsMasked(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, sealing(t, vault.Generate("k1")))
		testSensitive(t, s)
		stored := everything(t, dsn)
		for _, form := range forms(cardSecret) {
			if at := strings.Index(stored, form); at >= 0 {
				t.Errorf("the database has it: %q", stored[max(0, at-200):at+50])
			}
		}
		if !strings.Contains(stored, vault.Prefix+"k1:") || !strings.Contains(stored, plain) {
			t.Error("the database has no encrypted values, or encrypts what is not sensitive")
		}
	})
}

func sealing(t *testing.T, keys ...string) node.Options {
	t.Helper()
	ring, err := vault.Parse(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return node.Options{Encryption: node.Encryption{Ring: ring}}
}

func forms(text string) []string {
	out := []string{text}
	for skip := range 3 {
		code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + text))
		out = append(out, code[4:len(code)-4])
	}
	return out
}

func everything(t *testing.T, dsn string) string {
	t.Helper()
	var out strings.Builder
	if path, is := strings.CutPrefix(dsn, "sqlite:"); is {
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
	ctx := context.Background()
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	schema := query.Get("schema")
	query.Del("schema")
	query.Set("search_path", schema)
	at.RawQuery = query.Encode()
	conn, err := pgx.Connect(ctx, at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT table_name FROM information_schema.tables
 WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("%v: %v", tables, err)
	}
	for _, table := range tables {
		rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT r::text FROM %s r`, pgx.Identifier{table}.Sanitize()))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(strings.Join(texts, "\n"))
	}
	return out.String()
}

const sealedFlow = `name: pay
namespace_name: shop
version: "1"
sensitive: [/card, /receipt/token]
steps:
  - {name: charge, handler: charge, retry: {max_attempts: 5, backoff: none}}
  - {name: ship, handler: ship, dependencies: [charge], when: 'context.card startsWith "4111"'}
`

// TestSealedWorkflow: workers, conditions, results, checkpoints, edits and replays work with clear text.
func TestSealedWorkflow(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, sealing(t, vault.Generate("k1")))
		s.register(t, sealedFlow)
		failed := true
		shipped := make(chan string, 10)
		s.work(t, map[string]worker.Handler{
			"charge": func(_ context.Context, j *worker.Job) (any, error) {
				var at map[string]any
				found, err := j.LastCheckpoint(&at)
				if err != nil {
					return nil, err
				}
				if !found {
					if err := j.Checkpoint(json.RawMessage(`{"card":"` + cardSecret + `"}`)); err != nil {
						return nil, err
					}
					return nil, errors.New("again")
				}
				if failed && at["card"] == cardSecret {
					failed = false
					return nil, &tasker.Failure{Message: "declined", Retryable: new(bool),
						Details: json.RawMessage(`{"card":"` + cardSecret + `"}`)}
				}
				return json.RawMessage(`{"receipt":{"token":"` + cardSecret + `"},"sum":12}`), nil
			},
			"ship": func(_ context.Context, j *worker.Job) (any, error) {
				shipped <- string(j.Parameters) + string(j.ParentResults["charge"])
				return nil, nil
			}})
		receipt := s.submit(t, tasker.TaskRequest{Name: "pay", Namespace: "shop",
			Context: json.RawMessage(`{"card": "` + cardSecret + `", "n": 12345678901234567890}`)})
		s.settled(t, receipt, tasker.TaskError)
		if _, err := s.EditContext(s.ctx, receipt.TaskUUID, tasker.EditContextRequest{EditedBy: "ann", Reason: "typo",
			Merge: json.RawMessage(`{"note":"x"}`)}); err != nil {
			t.Fatal(err)
		}
		s.settled(t, receipt, tasker.TaskComplete)
		got := <-shipped
		for _, want := range []string{`"card":"` + cardSecret, `"token":"` + cardSecret, "12345678901234567890",
			`"note":"x"`} {
			if !strings.Contains(got, want) {
				t.Errorf("the worker got %s without %s", got, want)
			}
		}
		if stored := everything(t, dsn); strings.Contains(stored, cardSecret) {
			t.Error("the database has it in clear text")
		}
		page, err := s.Audit(s.ctx, operate.AuditFilter{TaskUUID: receipt.TaskUUID, Kind: "edit_context"})
		if err != nil || len(page) != 1 || !page[0].DataMasked { // not as it is stored and hashed
			t.Errorf("the acts are %+v, %v", page, err)
		}
	})
}

const sealedFanOut = `name: order
namespace_name: shop
version: "1"
sensitive: ["/lines/*/pin", /token]
steps:
  - {name: each, for_each: {items: context.lines, template: line}}
`

const sealedLine = `name: line
namespace_name: shop
version: "1"
sensitive: [/item/pin, /token]
steps:
  - {name: charge, handler: charge}
`

// TestSealedChildren: items, contexts of children and their results are stored encrypted.
func TestSealedChildren(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, sealing(t, vault.Generate("k1")))
		s.register(t, sealedLine)
		s.register(t, sealedFanOut)
		s.work(t, map[string]worker.Handler{"charge": func(_ context.Context, j *worker.Job) (any, error) {
			var of struct {
				Item struct{ Pin string }
			}
			if err := j.Decode(&of); err != nil {
				return nil, err
			}
			return map[string]string{"token": of.Item.Pin}, nil
		}})
		receipt := s.submit(t, tasker.TaskRequest{Name: "order", Namespace: "shop",
			Context: json.RawMessage(`{"lines":[{"pin":"` + cardSecret + `"},{"pin":"` + cardSecret + `"}]}`)})
		s.settled(t, receipt, tasker.TaskComplete)
		steps, err := s.Steps(s.ctx, receipt.TaskUUID)
		if err != nil || len(steps) != 1 || strings.Count(string(steps[0].Results), cardSecret) != 2 {
			t.Errorf("the steps are %+v, %v", steps, err)
		}
		stored := everything(t, dsn)
		if at := strings.Index(stored, cardSecret); at >= 0 {
			t.Errorf("the database has it: %q", stored[max(0, at-300):at+50])
		}
	})
}

// TestSealedSignal: the payload of a signal and the resulting result are stored encrypted.
func TestSealedSignal(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn, sealing(t, vault.Generate("k1")))
		s.register(t, "name: paid\nnamespace_name: shop\nversion: \"1\"\nsensitive: [/card]\nsteps:\n"+
			"  - {name: wait, wait: {signal: paid, key: \"{{order}}\"}}\n")
		receipt := s.submit(t, tasker.TaskRequest{Name: "paid", Namespace: "shop", Context: json.RawMessage(`{"order":"7"}`)})
		if status, body := s.send(t, "POST", "/v1/signals", `{"namespace":"shop","name":"paid","key":"7","payload":{"card":"`+
			cardSecret+`"}}`, nil); status >= 300 {
			t.Fatalf("the signal is answered %d %s", status, body)
		}
		s.settled(t, receipt, tasker.TaskComplete)
		steps, err := s.Steps(s.ctx, receipt.TaskUUID)
		if err != nil || len(steps) != 1 || !strings.Contains(string(steps[0].Results), cardSecret) {
			t.Errorf("the steps are %+v, %v", steps, err)
		}
		if strings.Contains(everything(t, dsn), cardSecret) {
			t.Error("the database has it in clear text")
		}
	})
}
