package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

type act struct {
	kind          string
	by            By
	namespace     string
	of            string
	from, to      string // states; "" where they do not matter
	data          any    // the operator's input; nil for none
	before, after any    // the object where its states do not say all
}

func written[T any](ctx context.Context, in *Inbox, fn func(context.Context, engine.Tx) (*T, error)) (*T, error) {
	var changed *T
	err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) (err error) {
		changed, err = fn(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

const versionRuns = 5

// versioned is written for an object that the caller expects in a version. Without one it runs again when another
// change came first.
func versioned[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx) (*T, error)) (
	changed *T, err error,
) {
	runs := versionRuns
	if by.Version != 0 {
		runs = 1
	}
	err = onConflict(runs, func(int) error {
		changed, err = written(ctx, in, fn)
		return err
	})
	return changed, err
}

func acting[T any](ctx context.Context, in *Inbox, by By, fn func(context.Context, engine.Tx, By) (*T, error)) (*T,
	error,
) {
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return versioned(ctx, in, by, func(ctx context.Context, tx engine.Tx) (*T, error) { return fn(ctx, tx, by) })
}

// act stores an act in the transaction of the change. The audit trail has no column for the object: it is a member of
// the data.
func (in *Inbox) act(ctx context.Context, tx engine.Tx, a act) error {
	data, err := json.Marshal(struct {
		Object string `json:"object"`
		Input  any    `json:"input,omitempty"`
		Before any    `json:"before,omitempty"`
		After  any    `json:"after,omitempty"`
	}{a.of, a.data, a.before, a.after})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	stored := task.Act{At: in.now(), Namespace: a.namespace, Kind: a.kind, Actor: a.by.Actor, Reason: a.by.Reason,
		From: a.from, To: a.to, Data: data}
	engine.SignAct(&stored, a.by.key)
	return in.db.ActStore().AddActs(ctx, tx, []task.Act{stored})
}

// fields is the audit trail's record of an object, without zero values, secrets and payloads: more people read the
// trail than a broker, and it is kept longer.
type fields map[string]any

func (f fields) MarshalJSON() ([]byte, error) {
	set := maps.Clone(map[string]any(f))
	maps.DeleteFunc(set, func(_ string, value any) bool {
		v := reflect.ValueOf(value)
		return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
	})
	return json.Marshal(set)
}

func recordOfSource(s *deadletter.Source) any {
	if s == nil {
		return nil
	}
	r := fields{"driver": s.Driver, "queue": s.Queue, "format": s.Format, "targets": posturl.RedactAll(s.Targets),
		"max_replays": new(s.MaxReplays), "max_open": s.MaxOpen, "paused": s.Paused, "intake": s.Intake,
		"sensitive": s.Sensitive, "sensitive_headers": s.SensitiveHeaders}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		r["broker"] = u.Scheme + "://" + u.Host // without user, password and parameters
	}
	return r
}

func sourceState(s *deadletter.Source) string {
	if s.Paused {
		return "paused"
	}
	return "reading"
}

func recordOfPolicy(p *deadletter.Policy) any {
	if p == nil {
		return nil
	}
	return *p
}

func recordOfGroup(g *deadletter.Group) fields {
	return fields{"owner": g.Owner, "runbook": g.Runbook, "due_at": g.DueAt.Ptr(), "resolved_in": g.ResolvedIn}
}

func recordOfRedrive(r *deadletter.Redrive) fields {
	p := &r.Plan
	return fields{"operation": r.Operation, "items": r.Total, "selection": recordOfSelection(&r.Selection),
		"destination": posturl.Redact(r.Destination), "edit": recordOfEdit(r.Edit), "include_parked": r.IncludeParked,
		"plan": fields{"canary": p.Canary, "factor": p.Factor, "largest": p.Largest,
			"observe_seconds": new(max(p.Observe, 0).Seconds()), "rate": p.Rate, "limit": p.Limit,
			"keep_attempts": p.KeepAttempts, "at_most_once": p.AtMostOnce, "priority": p.Priority},
		"stop": fields{"returned_share": r.Stop.ReturnedShare, "same_fingerprint": r.Stop.SamePrint,
			"failed": r.Stop.Failed}}
}

func recordOfSelection(s *deadletter.Selection) fields {
	return fields{"kind": s.Kind, "ids": texts(s.IDs), "groups": texts(s.Groups), "source": s.Source,
		"origin": posturl.Redact(s.Origin), "template": s.Template, "state": s.State, "error_type": s.Type, "text": s.Text,
		"header_name": s.HeaderName, "header_value": s.HeaderValue, "after": s.After.Ptr(), "before": s.Before.Ptr(),
		"first_after": s.FirstAfter.Ptr(), "first_before": s.FirstBefore.Ptr(), "min_replays": s.MinReplays,
		"replayed": s.Replayed, "retryable": s.Retryable, "parked": s.Parked, "reason": s.Reason,
		"task_state": s.TaskState}
}

func texts[T fmt.Stringer](list []T) (out []string) {
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

// recordOfEdit identifies the patch of an edit without showing it.
func recordOfEdit(e *deadletter.Edit) fields {
	if e == nil {
		return nil
	}
	out := fields{"drop_headers": e.DropHeaders, "key": e.Key != nil}
	if e.Patch != nil {
		sum := sha256.Sum256(e.Patch)
		out["patch_sha256"] = hex.EncodeToString(sum[:])
	}
	var set []string
	for _, h := range e.SetHeaders {
		set = append(set, h.Name)
	}
	out["set_headers"] = set
	return out
}

func recordOfReplay(r *deadletter.Replay) fields {
	s := &r.Spec
	return fields{"source": r.Source, "topic": s.Topic, "into": s.Into, "offsets": r.Left(), "since": s.Since.Ptr(),
		"before": s.Before.Ptr(), "filtered": s.Key != nil || len(s.Headers) > 0, "rate": s.Rate, "repeat": s.Repeat,
		"intake": s.Intake}
}

type contentRecord struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rest   string `json:"rest"`
}

func recordOfContent(l *deadletter.Letter) contentRecord {
	content := l.Outgoing()
	sum, rest := sha256.Sum256(content.Payload), sha256.New()
	fmt.Fprintf(rest, "%q", content.Key)
	for _, h := range content.Headers {
		fmt.Fprintf(rest, "%q%q", h.Name, h.Value)
	}
	return contentRecord{len(content.Payload), hex.EncodeToString(sum[:]), hex.EncodeToString(rest.Sum(nil))}
}

const shownLetters = 10

// decisions counts decisions of policies in one transaction: one act for each policy and not for each of thousands of
// letters, which have their reasons themselves.
type decisions struct {
	acts map[decision]*decidedLetters
	news letterNews
}

func newDecisions() *decisions {
	return &decisions{acts: map[decision]*decidedLetters{}, news: letterNews{}}
}

type decision struct {
	namespace, policy string
	to                model.LetterState
}

type decidedLetters struct {
	Letters int      `json:"letters"`
	First   []string `json:"first"`
	reason  string
}

func (d *decidedLetters) count(l *deadletter.Letter) {
	if d.Letters++; len(d.First) < shownLetters {
		d.First = append(d.First, l.ID.String())
	}
}

func (d *decisions) note(p *deadletter.Policy, l *deadletter.Letter) {
	if l.State != model.LetterDiscarded && l.State != model.LetterScheduled {
		return
	}
	d.news.discarded(l)
	of := decision{l.Namespace, policyName(p), l.State}
	if d.acts[of] == nil {
		d.acts[of] = &decidedLetters{reason: l.Reason}
	}
	d.acts[of].count(l)
}

func (d *decisions) events(now task.Instant) []deadletter.Event { return d.news.events(now) }

func (d *decisions) store(ctx context.Context, tx engine.Tx, in *Inbox) error {
	order := slices.SortedFunc(maps.Keys(d.acts), func(a, b decision) int {
		return slices.Compare([]string{a.namespace, a.policy, string(a.to)}, []string{b.namespace, b.policy, string(b.to)})
	})
	for _, of := range order {
		a := act{kind: "policy_schedule", by: By{Actor: engine.System, Reason: "policy " + of.policy},
			namespace: of.namespace, of: of.policy, from: string(model.LetterOpen), to: string(of.to), data: d.acts[of]}
		if of.to == model.LetterDiscarded {
			a.kind = "policy_discard"
			if reason := d.acts[of].reason; reason != "" {
				a.by.Reason = fmt.Sprintf("%.500s", of.policy+": "+reason)
			}
		}
		if err := in.act(ctx, tx, a); err != nil {
			return err
		}
	}
	return nil
}
