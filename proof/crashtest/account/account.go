// Package account reads what nodes say of dead letters, so that a test can compare it with the messages that it has
// sent and received.
package account

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/operate"
)

// Nodes are the nodes of a cluster, of which some may be down.
type Nodes struct {
	Servers  []*process.Server
	Backends []deadletters.Backend
	Trail    operate.Backend // of any node
}

// Ask calls one node after the other until one has answered. A refusal is an answer.
func Ask[T any](ctx context.Context, n *Nodes, fn func(deadletters.Backend) (T, error)) (T, error) {
	for i := 0; ; i++ {
		at := i % len(n.Backends)
		if i < len(n.Backends) && !n.Servers[at].Up() { // a frozen one would not answer for long
			continue
		}
		got, err := fn(n.Backends[at])
		if err == nil {
			return got, nil
		}
		switch tasker.ErrorCode(err) {
		case tasker.CodeUnavailable, tasker.CodeInternal, "":
		default:
			return got, err
		}
		if clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return got, fmt.Errorf("%w; the last answer: %w", ctx.Err(), err)
		}
	}
}

// Refused reports whether there was nothing to do, or another operator has done it.
func Refused(err error) bool {
	switch tasker.ErrorCode(err) {
	case tasker.CodeInvalid, tasker.CodeConflict, tasker.CodeWrongState, tasker.CodeNotFound:
		return true
	}
	return false
}

func pages[T any](ctx context.Context, n *Nodes,
	list func(deadletters.Backend, string) ([]T, string, error),
) ([]T, error) {
	type page struct {
		rows []T
		next string
	}
	var all []T
	for cursor := ""; ; {
		p, err := Ask(ctx, n, func(b deadletters.Backend) (page, error) {
			rows, next, err := list(b, cursor)
			return page{rows, next}, err
		})
		all = append(all, p.rows...)
		if cursor = p.next; err != nil || cursor == "" {
			return all, err
		}
	}
}

// Letters are all letters of a source, or of all sources (""), in any state.
func (n *Nodes) Letters(ctx context.Context, source string) ([]deadletters.Letter, error) {
	return pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Letter, string, error) {
		p, err := b.Letters(ctx, deadletters.LetterFilter{Limit: 1000, Cursor: cursor,
			Selection: deadletters.Selection{Namespace: "default", Source: source}})
		if err != nil {
			return nil, "", err
		}
		return p.Letters, p.NextCursor, nil
	})
}

func (n *Nodes) redrives(ctx context.Context) ([]deadletters.Redrive, error) {
	return pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Redrive, string, error) {
		p, err := b.Redrives(ctx, deadletters.RedriveFilter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return p.Redrives, p.NextCursor, nil
	})
}

// Unfinished describes a redrive that has not ended, and resumes those that are paused; "": all have ended.
func (n *Nodes) Unfinished(ctx context.Context) (string, error) {
	redrives, err := n.redrives(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range redrives {
		if d.State == deadletters.RedrivePaused || d.State == deadletters.RedriveHalted {
			_, err := Ask(ctx, n, func(b deadletters.Backend) (*deadletters.Redrive, error) {
				return b.ActOnRedrive(ctx, d.RedriveUUID, deadletters.RedriveAct{Action: deadletters.ResumeRedrive})
			})
			if err != nil && !Refused(err) {
				return "", err
			}
		}
		if !d.State.Ended() {
			return fmt.Sprintf("the redrive %s is %s: %+v", d.RedriveUUID, d.State, d.Counts), nil
		}
	}
	return "", nil
}

// Send is one letter of one redrive, or of one turn of a policy.
type Send struct {
	Redrive, Letter string
	Replays         int // of a policy
}

// SendOf is the send that a delivery belongs to, by what it says of itself; redrive is "" if a policy sent it.
func SendOf(redrive, letter string, replays int) Send {
	if redrive == "" {
		return Send{Letter: letter, Replays: replays}
	}
	return Send{Redrive: redrive, Letter: letter}
}

// Item is an item of a redrive, and the state of that.
type Item struct {
	deadletters.Item
	Of deadletters.RedriveState
}

// Sent reports whether the item's letter was delivered, says its redrive.
func (i Item) Sent() bool {
	return i.State == deadletters.ItemSent || i.State == deadletters.ItemReturned
}

// Items returns the items of all redrives, and the number of redrives. A letter that is twice in one is a violation.
func (n *Nodes) Items(ctx context.Context, found *Violations) (map[Send]Item, int, error) {
	redrives, err := n.redrives(ctx)
	if err != nil {
		return nil, 0, err
	}
	all := map[Send]Item{}
	for _, d := range redrives {
		items, err := pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Item, string, error) {
			p, err := b.RedriveItems(ctx, d.RedriveUUID, deadletters.ItemFilter{Limit: 1000, Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return p.Items, p.NextCursor, nil
		})
		if err != nil {
			return nil, 0, err
		}
		for _, i := range items {
			at := Send{Redrive: d.RedriveUUID.String(), Letter: uuid.UUID(i.ID).String()}
			if _, twice := all[at]; twice {
				found.Wrong("items", "letter %s is twice in the redrive %s", at.Letter, at.Redrive)
			}
			all[at] = Item{i, d.State}
		}
	}
	return all, len(redrives), nil
}

// Acts returns how often the audit trail says that a policy may have sent a letter twice.
func (n *Nodes) Acts(ctx context.Context) (map[string]int, error) {
	of := map[string]int{}
	for below := int64(0); ; {
		page, err := n.Trail.Audit(ctx, operate.AuditFilter{Limit: 1000, Below: below})
		if err != nil || len(page) == 0 {
			return of, err
		}
		for _, a := range page {
			below = a.No
			if a.Kind != "send_letter_again" {
				continue
			}
			var data struct{ Object string }
			if err := json.Unmarshal(a.Data, &data); err != nil {
				return of, err
			}
			of[data.Object]++
		}
	}
}

// RedriveAll is a redrive of everything open of a source.
func RedriveAll(source, destination string, canary int) deadletters.RedriveRequest {
	return deadletters.RedriveRequest{Operation: deadletters.OpRedrive, Destination: destination, Start: true,
		Selection:     deadletters.Selection{Namespace: "default", Source: source},
		IncludeParked: true, Plan: deadletters.Plan{Canary: canary, Factor: 2, Largest: 200, ObserveSeconds: 0.05},
		Stop: deadletters.StopRule{ReturnedShare: 1, SamePrint: 100_000, Failed: 100_000},
		Act:  deadletters.Act{Actor: "ann", Reason: "fixed"}}
}
