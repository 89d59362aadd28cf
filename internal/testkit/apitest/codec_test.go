package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/codec"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

func ring(t *testing.T, lines ...string) *codec.AESGCM {
	t.Helper()
	c, err := codec.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func codecKey(t *testing.T, id string) string {
	t.Helper()
	line, err := codec.GenerateKey(id)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (s *server) encoding(t *testing.T, opts tasker.CodecOptions) *server {
	t.Helper()
	out := *s
	var err error
	if out.Client, err = s.Client.WithCodec(opts); err != nil {
		t.Fatal(err)
	}
	return &out
}

const codecFlow = `name: pay
namespace_name: shop
version: "1"
sensitive: [/card]
steps:
  - {name: charge, handler: charge, retry: {max_attempts: 5, backoff: none}}
  - {name: ship, handler: ship, dependencies: [charge], when: context.total > 10 && parents.charge.result.ok}
  - {name: each, for_each: {items: context.lines, handler: line}}
`

// TestCodec: handlers and the client with the codec see clear text, conditions see values that are not encoded, and
// neither the database nor another client sees encoded values. This also holds after a failure, a checkpoint, an edit
// and an operator's result.
func TestCodec(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		plainly := serve(t, dsn, node.Options{})
		s := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, codecKey(t, "k1")),
			ContextFields: []string{"/secret", "/lines/*/pin"}, ResultFields: []string{"/token"}})
		s.register(t, codecFlow)
		declined := true
		s.work(t, map[string]worker.Handler{
			"charge": func(_ context.Context, j *worker.Job) (any, error) {
				var at, in struct{ Secret string }
				found, err := j.LastCheckpoint(&at)
				if err != nil {
					return nil, err
				}
				if err := j.Decode(&in); err != nil {
					return nil, err
				}
				switch {
				case !found:
					if err := j.Checkpoint(in); err != nil {
						return nil, err
					}
					return nil, errors.New("again")
				case at != in || declined:
					declined = false
					return nil, worker.NonRetryable(errors.New("declined"))
				}
				return map[string]any{"ok": true, "token": in.Secret}, nil
			},
			"line": func(_ context.Context, j *worker.Job) (any, error) {
				in, err := worker.Context[struct{ Item struct{ Pin string } }](j)
				return map[string]any{"token": in.Item.Pin}, err
			},
			"ship": func(_ context.Context, j *worker.Job) (any, error) {
				paid, err := worker.ParentResult[struct{ Token string }](j, "charge")
				return map[string]any{"token": "of " + paid.Token}, err
			}})
		receipt := s.submit(t, tasker.NewTask("pay", map[string]any{"secret": cardSecret, "total": 12,
			"lines": []any{map[string]any{"pin": cardSecret}, map[string]any{"pin": cardSecret}}},
			tasker.WithNamespace("shop")))
		failed := s.settled(t, receipt, tasker.TaskError)
		if !strings.Contains(string(failed.Context), cardSecret) {
			t.Errorf("the client that has the codec sees %s", failed.Context)
		}
		edited, err := s.EditContext(s.ctx, receipt.TaskUUID, tasker.EditContextRequest{EditedBy: "ann", Reason: "typo",
			Merge: json.RawMessage(`{"note":"x"}`)})
		if err != nil || !strings.Contains(string(edited.Context), cardSecret) {
			t.Fatalf("edited %+v, %v", edited, err)
		}
		var out struct{ Token string }
		if err := s.Result(s.ctx, receipt.TaskUUID, "ship", &out); err != nil || out.Token != "of "+cardSecret {
			t.Errorf("the result is %+v, %v", out, err)
		}
		var lines []struct{ Token string }
		if err := s.Result(s.ctx, receipt.TaskUUID, "each", &lines); err != nil || len(lines) != 2 ||
			lines[1].Token != cardSecret {
			t.Errorf("the joined results are %+v, %v", lines, err)
		}
		err = plainly.Result(s.ctx, receipt.TaskUUID, "ship", &out)
		var undecoded *tasker.DecodeError
		if tasker.ErrorCode(err) != tasker.CodeInvalid || !errors.As(err, &undecoded) || undecoded.Key != "k1" ||
			undecoded.Pointer != "/token" {
			t.Errorf("without the codec the result is %v", err)
		}
		if got, err := plainly.Task(s.ctx, receipt.TaskUUID, 0); err != nil || !envelope.Within(got.Context) ||
			!strings.Contains(string(got.Context), `"total":12`) {
			t.Errorf("without the codec the task is %s, %v", got.Context, err)
		}
		history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
		if err != nil || len(history.ContextEdits) != 1 ||
			!strings.Contains(string(history.ContextEdits[0].OldContext), cardSecret) {
			t.Errorf("the history is %+v, %v", history, err)
		}
		page, err := s.Tasks(s.ctx, tasker.TaskFilter{Name: "pay", WithContext: true})
		if err != nil || len(page.Tasks) != 1 || !strings.Contains(string(page.Tasks[0].Context), cardSecret) {
			t.Errorf("the list is %+v, %v", page, err)
		}
		stored := everything(t, dsn)
		for _, form := range forms(cardSecret) {
			if at := strings.Index(stored, form); at >= 0 {
				t.Errorf("the database has it: %q", stored[max(0, at-200):at+50])
			}
		}
	})
}

// TestCodecEdits: an operator with the codec edits a fully encoded context, and gives a result; an edit of a part of an
// encoded value is refused, with and without the codec.
func TestCodecEdits(t *testing.T) { onEveryStore(t, testCodecEdits) }

func testCodecEdits(t *testing.T, plainly *server) {
	s := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, codecKey(t, "k1"))})
	s.work(t, map[string]worker.Handler{"h": func(_ context.Context, j *worker.Job) (any, error) {
		in, err := worker.Context[map[string]string](j)
		if err != nil || in["a"] != "right" {
			return nil, worker.NonRetryable(errors.New("wrong"))
		}
		return in["a"], nil
	}})
	receipt := s.submit(t, tasker.NewHandlerTask("h", map[string]string{"a": "wrong"}, tasker.WithIdempotencyKey("once")))
	s.settled(t, receipt, tasker.TaskError)
	again := s.submit(t, tasker.NewHandlerTask("h", map[string]string{"a": "wrong"}, tasker.WithIdempotencyKey("once")))
	if again.Created || again.TaskUUID != receipt.TaskUUID {
		t.Errorf("the same submission, encoded again, is %+v", again)
	}
	edit := tasker.EditContextRequest{EditedBy: "ann", Reason: "typo", Merge: json.RawMessage(`{"a":"right"}`)}
	if _, err := s.EditContext(s.ctx, receipt.TaskUUID, edit); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a merge patch of what is encoded whole: %v", err)
	}
	if _, err := plainly.EditContext(s.ctx, receipt.TaskUUID, edit); tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("the same without the codec: %v", err)
	}
	edit.Merge, edit.Context = nil, json.RawMessage(`{"a":"right"}`)
	edited, err := s.EditContext(s.ctx, receipt.TaskUUID, edit)
	if err != nil || !strings.Contains(string(edited.OldContext), "wrong") {
		t.Fatalf("edited %+v, %v", edited, err)
	}
	var out string
	if err := s.Result(s.ctx, receipt.TaskUUID, "", &out); err != nil || out != "right" {
		t.Errorf("the result is %q, %v", out, err)
	}
	receipt = s.submit(t, tasker.NewHandlerTask("h", map[string]string{"a": "wrong"}))
	s.settled(t, receipt, tasker.TaskError)
	step, err := s.ActOnStep(s.ctx, receipt.TaskUUID, s.step(t, receipt, "h").StepUUID, tasker.StepAction{
		ActionType: tasker.CompleteManually, CompletedBy: "ann", Reason: "by hand",
		CompletionData: &tasker.CompletionData{Result: json.RawMessage(`"mine"`)}})
	if err != nil || string(step.Results) != `"mine"` {
		t.Fatalf("completed %+v, %v", step, err)
	}
	if raw := plainly.step(t, receipt, "h").Results; !envelope.Is(raw) {
		t.Errorf("stored as %s", raw)
	}
}

// TestCodecMissingKey: a worker without the codec or the key fails the attempt and names both; the step runs where the
// key is. A handler never gets an empty value instead of an encoded one.
func TestCodecMissingKey(t *testing.T) { onEveryStore(t, testCodecMissingKey) }

func testCodecMissingKey(t *testing.T, plainly *server) {
	old, fresh := codecKey(t, "k1"), codecKey(t, "k2")
	s := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, fresh, old), ContextFields: []string{"/card"}})
	lacking := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, old)})
	type in struct{ Card struct{ Number string } }
	run := func(s *server) (end func()) {
		w := worker.New(s.Client, &worker.Options{PollWait: time.Second, Logger: slog.New(slog.DiscardHandler)})
		worker.Handle(w, "pay", func(_ context.Context, in in) (string, error) {
			if in.Card.Number == "" {
				t.Error("a handler got an empty number")
			}
			return in.Card.Number, nil
		})
		return s.runWorker(t, w)
	}
	for name, worker := range map[string]*server{"without codec": plainly, "without key": lacking} {
		receipt := s.submit(t, tasker.NewHandlerTask("pay", map[string]any{"card": map[string]string{"number": "4111"}},
			tasker.WithMaxRetries(50)))
		end := run(worker)
		await.Until(t, "a failed attempt "+name, func() bool { return s.step(t, receipt, "pay").LastError != nil })
		end()
		f := s.step(t, receipt, "pay").LastError
		if f.Code != "CODEC" || f.Class != tasker.ClassWorker || f.Retryable != nil && !*f.Retryable ||
			string(f.Details) != `{"codec":"aes-256-gcm","key":"k2","pointer":"/context/card"}` ||
			strings.Contains(f.Message, "4111") {
			t.Errorf("%s: the failure is %+v, details %s", name, f, f.Details)
		}
		end = run(s)
		var number string
		if err := s.Result(s.ctx, receipt.TaskUUID, "", &number); err != nil || number != "4111" {
			t.Errorf("%s: the result is %q, %v", name, number, err)
		}
		end()
	}
}

// TestCodecLetter: a message keeps its encoded values as a dead letter, through an edit of other fields.
func TestCodecLetter(t *testing.T) { onEveryStore(t, testCodecLetter) }

func testCodecLetter(t *testing.T, plainly *server) {
	s := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, codecKey(t, "k1"))})
	card, err := s.EncodeValue(s.ctx, map[string]string{"number": "4111"})
	if err != nil {
		t.Fatal(err)
	}
	b := deadletters.Of(s.Client)
	report := deadletters.NewReport("orders", []byte(`{"id":1,"card":`+string(card)+`}`), errors.New("no"))
	receipts, err := b.Report(s.ctx, deadletters.ReportRequest{Source: "billing", Reports: []deadletters.Report{report}})
	if err != nil {
		t.Fatal(err)
	}
	edit := func(patch string) (*deadletters.Letter, error) {
		return b.EditLetter(s.ctx, receipts[0].LetterUUID, deadletters.LetterEdit{Edit: deadletters.Edit{
			Patch: json.RawMessage(patch)}, Act: deadletters.Act{Reason: "typo"}})
	}
	letter, err := edit(`{"id":2}`)
	if err != nil {
		t.Fatal(err)
	}
	var order struct {
		ID   int
		Card struct{ Number string }
	}
	if err := s.DecodeValue(s.ctx, json.RawMessage(letter.Edited.Payload), &order); err != nil || order.ID != 2 ||
		order.Card.Number != "4111" {
		t.Errorf("the edited letter is %s: %+v, %v", letter.Edited.Payload, order, err)
	}
	if letter, err := edit(`{"card":{"number":"1"}}`); err == nil {
		t.Errorf("a part of an encoded value was changed: %s", letter.Edited.Payload)
	}
}

// TestCodecPairs: limits count encoded bytes, and say so; sensitive values are masked, and a mask is never encoded
// instead; replays keep the values.
func TestCodecPairs(t *testing.T) { onEveryStore(t, testCodecPairs) }

func testCodecPairs(t *testing.T, plainly *server) {
	keys := ring(t, codecKey(t, "k1"))
	s := plainly.encoding(t, tasker.CodecOptions{Codec: keys, ContextFields: []string{"/card"}})
	s.register(t, codecFlow)
	big := strings.Repeat("x", 200<<10) // the limit is 256 KiB
	_, err := s.Submit(s.ctx, tasker.NewHandlerTask("h", map[string]string{"card": big}))
	if tasker.ErrorCode(err) != tasker.CodeInvalid || !strings.Contains(err.Error(), "which is a third longer") {
		t.Errorf("a value that is too large once it is encoded: %.300v", err)
	}
	s.work(t, map[string]worker.Handler{
		"big": func(context.Context, *worker.Job) (any, error) { return big, nil },
		"charge": func(_ context.Context, j *worker.Job) (any, error) {
			in, err := worker.Context[struct{ Card string }](j)
			if err == nil && in.Card != cardSecret {
				err = errors.New("the card is " + in.Card)
			}
			return nil, errors.Join(err, worker.NonRetryable(errors.New("declined")))
		}})
	receipt := s.submit(t, tasker.NewHandlerTask("big", nil))
	s.settled(t, receipt, tasker.TaskError)
	if f := s.step(t, receipt, "big").LastError; f.Type != "result_too_large" || !strings.Contains(f.Message, "codec") {
		t.Errorf("a result that is too large once it is encoded: %+v", f)
	}
	receipt = s.submit(t, tasker.NewTask("pay", map[string]any{"card": cardSecret, "total": 1, "lines": []any{}},
		tasker.WithNamespace("shop")))
	s.settled(t, receipt, tasker.TaskError)
	copied := *plainly
	copied.Client = plainly.keyed(t, []string{"submit", "read", "operate"})
	blind := copied.encoding(t, tasker.CodecOptions{Codec: keys, ContextFields: []string{"/card"}})
	failed, err := blind.Task(s.ctx, receipt.TaskUUID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(failed.Context), cardSecret) || !strings.Contains(string(failed.Context), "[masked]") {
		t.Errorf("the sensitive field is shown: %s", failed.Context)
	}
	_, err = blind.EditContext(s.ctx, receipt.TaskUUID, tasker.EditContextRequest{EditedBy: "ann", Reason: "typo",
		Context: failed.Context})
	if tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a masked context was sent back: %v", err)
	}
	if _, err := operate.Of(s.Client).ReplayTask(s.ctx, receipt.TaskUUID, operate.ReplayRequest{ReplayedBy: "ann",
		Reason: "again"}); err != nil {
		t.Fatal(err)
	}
	s.settled(t, receipt, tasker.TaskError)
	if f := s.step(t, receipt, "charge").LastError; f.Message != "declined" {
		t.Errorf("after a replay: %+v", f)
	}
}

func TestCodecRefusals(t *testing.T) { onEveryStore(t, testCodecRefusals) }

func testCodecRefusals(t *testing.T, plainly *server) {
	keys := ring(t, codecKey(t, "k1"))
	for _, opts := range []tasker.CodecOptions{{}, {Codec: keys, Older: []tasker.Codec{nil}},
		{Codec: keys, ContextFields: []string{"card"}}, {Codec: keys, ResultFields: []string{"/~2"}}} {
		if _, err := plainly.WithCodec(opts); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	s := plainly.encoding(t, tasker.CodecOptions{Codec: keys, ContextFields: []string{"/card"}})
	card, err := s.EncodeValue(s.ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, context := range []string{string(card), `{"card":{"\u0024tasker.codec":1}}`, `{"card":`} {
		_, err := s.Submit(s.ctx, tasker.TaskRequest{TaskType: "h", Context: json.RawMessage(context)})
		var e *tasker.Error
		if !errors.As(err, &e) || e.Code != tasker.CodeInvalid || len(e.Details) != 1 ||
			!strings.HasPrefix(e.Details[0].Location, "/tasks/0/context") {
			t.Errorf("%s: %v", context, err)
		}
	}
	s.empty(t)
}

// TestCodecLargeResult: a separately stored result is encoded there, and decoded at the read.
func TestCodecLargeResult(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		dir := t.TempDir()
		plainly := serve(t, dsn, node.Options{Blobs: directory(t, dir)})
		s := plainly.encoding(t, tasker.CodecOptions{Codec: ring(t, codecKey(t, "k1"))})
		s.register(t, "name: big\nversion: \"1\"\nsteps:\n  - {name: a, handler: a}\n"+
			"  - {name: b, handler: b, dependencies: [a]}\n")
		big := cardSecret + strings.Repeat("x", 500<<10)
		s.work(t, map[string]worker.Handler{
			"a": func(context.Context, *worker.Job) (any, error) { return big, nil },
			"b": func(_ context.Context, j *worker.Job) (any, error) {
				a, err := worker.ParentResult[string](j, "a")
				return len(a), err
			}})
		receipt := s.submit(t, tasker.NewTask("big", nil))
		var size int
		if err := s.Result(s.ctx, receipt.TaskUUID, "b", &size); err != nil || size != len(big) {
			t.Errorf("the dependant got %d bytes, %v", size, err)
		}
		var out string
		if err := s.Result(s.ctx, receipt.TaskUUID, "a", &out); err != nil || out != big {
			t.Errorf("the result has %d bytes, %v", len(out), err)
		}
		if step := s.step(t, receipt, "a"); step.LargeResult == nil || step.LargeResult.Bytes < int64(len(big))*4/3 {
			t.Errorf("the step is %+v", step)
		}
		files := 0
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			files++
			if strings.Contains(string(raw), cardSecret) {
				t.Errorf("%s has it in clear text", path)
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("%d files, %v", files, err)
		}
	})
}
