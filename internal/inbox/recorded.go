package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/posturl"
	"github.com/taskerhq/tasker/internal/task"
)

// What the audit trail keeps of an object before and after an act. It holds no secret and no payload: the trail is read
// by more people than a broker is, and is kept for longer.

// sourceRecord is a source in the audit trail.
type sourceRecord struct {
	Driver     string   `json:"driver"`
	Broker     string   `json:"broker,omitempty"` // its address, without user, password and parameters
	Queue      string   `json:"queue,omitempty"`
	Format     string   `json:"format,omitempty"`
	Targets    []string `json:"targets,omitempty"`
	MaxReplays int      `json:"max_replays"`
	MaxOpen    int      `json:"max_open,omitempty"`
	Paused     bool     `json:"paused,omitempty"`

	Intake *deadletter.Intake `json:"intake,omitempty"`

	Sensitive        []string `json:"sensitive,omitempty"`
	SensitiveHeaders []string `json:"sensitive_headers,omitempty"`
}

func recordOfSource(s *deadletter.Source) any {
	if s == nil {
		return nil
	}
	r := sourceRecord{Driver: s.Driver, Queue: s.Queue, Format: s.Format, Targets: posturl.RedactAll(s.Targets),
		MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen, Paused: s.Paused, Intake: s.Intake, Sensitive: s.Sensitive,
		SensitiveHeaders: s.SensitiveHeaders}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		r.Broker = u.Scheme + "://" + u.Host
	}
	return r
}

func sourceState(s *deadletter.Source) string {
	if s.Paused {
		return "paused"
	}
	return "reading"
}

// recordOfPolicy returns what is kept of a policy, nil for none. It has no secret.
func recordOfPolicy(p *deadletter.Policy) any {
	if p == nil {
		return nil
	}
	return *p
}

// groupRecord is what operators change of a group, besides its state.
type groupRecord struct {
	Owner      string     `json:"owner,omitempty"`
	Runbook    string     `json:"runbook,omitempty"`
	DueAt      *time.Time `json:"due_at,omitempty"`
	ResolvedIn string     `json:"resolved_in,omitempty"`
}

func recordOfGroup(g *deadletter.Group) groupRecord {
	return groupRecord{Owner: g.Owner, Runbook: g.Runbook, DueAt: g.DueAt.Ptr(), ResolvedIn: g.ResolvedIn}
}

// contentRecord identifies what would be sent of a letter.
type contentRecord struct {
	Bytes  int    `json:"bytes"`  // of the payload
	SHA256 string `json:"sha256"` // of the payload
	Rest   string `json:"rest"`   // SHA-256 of key and headers
}

func recordOfContent(l *deadletter.Letter) contentRecord {
	content := l.Outgoing()
	sum, rest := sha256.Sum256(content.Payload), sha256.New()
	fmt.Fprintf(rest, "%q", content.Key) // a hash never fails
	for _, h := range content.Headers {
		fmt.Fprintf(rest, "%q%q", h.Name, h.Value)
	}
	return contentRecord{len(content.Payload), hex.EncodeToString(sum[:]), hex.EncodeToString(rest.Sum(nil))}
}

// shownLetters bounds the letters that an act of a policy names.
const shownLetters = 10

// decisions counts what policies decided in one transaction. A policy that decides about thousands of letters a second
// gets one act for each transaction, and not one for each letter: the letters have their reasons themselves.
type decisions struct {
	acts map[decision]*decidedLetters
	news letterNews
}

func newDecisions() *decisions {
	return &decisions{acts: map[decision]*decidedLetters{}, news: letterNews{}}
}

// decision is a policy and its verdict.
type decision struct {
	policy, kind string
	namespace    string
}

type decidedLetters struct {
	Letters int      `json:"letters"`
	First   []string `json:"first"` // up to shownLetters IDs
	reason  string   // of the first letter
}

func (d *decidedLetters) count(l *deadletter.Letter) {
	if d.Letters++; len(d.First) < shownLetters {
		d.First = append(d.First, l.ID.String())
	}
}

// note counts a letter about which a policy has decided.
func (d *decisions) note(p *deadletter.Policy, l *deadletter.Letter) {
	of := decision{policy: policyName(p), namespace: l.Namespace}
	switch l.State {
	case model.LetterDiscarded:
		of.kind = "policy_discard"
		d.news.add(deadletter.EventDiscarded, l, l.Reason)
	case model.LetterScheduled:
		of.kind = "policy_schedule"
	default:
		return
	}
	letters := d.acts[of]
	if letters == nil {
		letters = &decidedLetters{reason: l.Reason}
		d.acts[of] = letters
	}
	letters.count(l)
}

func (d *decisions) events(now task.Instant) []deadletter.Event { return d.news.events(now) }

// store stores an act of each policy that has decided.
func (d *decisions) store(ctx context.Context, tx engine.Tx, in *Inbox) error {
	order := slices.SortedFunc(maps.Keys(d.acts), func(a, b decision) int {
		return slices.Compare([]string{a.namespace, a.policy, a.kind}, []string{b.namespace, b.policy, b.kind})
	})
	for _, of := range order {
		by := By{Actor: engine.System, Reason: "policy " + of.policy}
		if reason := d.acts[of].reason; reason != "" && of.kind == "policy_discard" {
			by.Reason = fmt.Sprintf("%.500s", of.policy+": "+reason)
		}
		to := string(model.LetterDiscarded)
		if of.kind == "policy_schedule" {
			to = string(model.LetterScheduled)
		}
		if err := in.act(ctx, tx, act{kind: of.kind, by: by, namespace: of.namespace, of: of.policy,
			from: string(model.LetterOpen), to: to, data: d.acts[of]}); err != nil {
			return err
		}
	}
	return nil
}
