package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/posturl"
	"github.com/taskerhq/tasker/internal/task"
)

// redriveRecord is what an operator told a redrive to do, in the words of the API. The act that creates a redrive
// stores it, because an act outlives the redrive. It has no payloads: a reader of the audit trail may not be allowed to
// read letters.
type redriveRecord struct {
	Operation     model.Operation `json:"operation"`
	Items         int             `json:"items"`
	Selection     selectionRecord `json:"selection"`
	Destination   string          `json:"destination,omitempty"`
	Edit          *editRecord     `json:"edit,omitempty"`
	Plan          planRecord      `json:"plan"`
	Stop          stopRecord      `json:"stop"`
	IncludeParked bool            `json:"include_parked,omitempty"`
}

// selectionRecord is a deadletter.Selection. Times are RFC 3339.
type selectionRecord struct {
	Kind        model.Kind        `json:"kind,omitempty"`
	IDs         []string          `json:"ids,omitempty"`
	Groups      []string          `json:"groups,omitempty"`
	Source      string            `json:"source,omitempty"`
	Origin      string            `json:"origin,omitempty"`
	Template    string            `json:"template,omitempty"`
	State       model.LetterState `json:"state,omitempty"`
	Type        string            `json:"error_type,omitempty"`
	Text        string            `json:"text,omitempty"`
	HeaderName  string            `json:"header_name,omitempty"`
	HeaderValue string            `json:"header_value,omitempty"`
	After       *time.Time        `json:"after,omitempty"`
	Before      *time.Time        `json:"before,omitempty"`
	FirstAfter  *time.Time        `json:"first_after,omitempty"`
	FirstBefore *time.Time        `json:"first_before,omitempty"`
	MinReplays  int               `json:"min_replays,omitempty"`
	Replayed    *bool             `json:"replayed,omitempty"`
	Retryable   *bool             `json:"retryable,omitempty"`
	Parked      *bool             `json:"parked,omitempty"`
	Reason      task.CaseReason   `json:"reason,omitempty"`
	TaskState   task.State        `json:"task_state,omitempty"`
}

// planRecord is a deadletter.Plan with its defaults.
type planRecord struct {
	Canary       int     `json:"canary"`
	Factor       float64 `json:"factor"`
	Largest      int     `json:"largest"`
	Observe      float64 `json:"observe_seconds"`
	Rate         float64 `json:"rate,omitempty"`
	Limit        int     `json:"limit,omitempty"`
	KeepAttempts bool    `json:"keep_attempts,omitempty"`
	AtMostOnce   bool    `json:"at_most_once,omitempty"`
	Priority     string  `json:"priority,omitempty"`
}

// stopRecord is a deadletter.StopRule; bounds that are off are missing.
type stopRecord struct {
	ReturnedShare float64 `json:"returned_share,omitempty"`
	SamePrint     int     `json:"same_fingerprint,omitempty"`
	Failed        int     `json:"failed,omitempty"`
}

// editRecord says what a deadletter.Edit changes, and identifies its patch without showing it.
type editRecord struct {
	PatchSHA256 string   `json:"patch_sha256,omitempty"`
	SetHeaders  []string `json:"set_headers,omitempty"`
	DropHeaders []string `json:"drop_headers,omitempty"`
	Key         bool     `json:"key,omitempty"`
}

func recordOfRedrive(r *deadletter.Redrive) redriveRecord {
	return redriveRecord{Operation: r.Operation, Items: r.Total, Selection: recordOfSelection(&r.Selection),
		Destination: posturl.Redact(r.Destination), Edit: recordOfEdit(r.Edit), IncludeParked: r.IncludeParked,
		Plan: planRecord{Canary: r.Plan.Canary, Factor: r.Plan.Factor, Largest: r.Plan.Largest,
			Observe: max(r.Plan.Observe, 0).Seconds(), Rate: r.Plan.Rate, Limit: r.Plan.Limit,
			KeepAttempts: r.Plan.KeepAttempts, Priority: r.Plan.Priority,
			AtMostOnce: r.Plan.AtMostOnce},
		Stop: stopRecord(r.Stop)}
}

// recordOfSelection returns a selection for a redriveRecord. The namespace is that of the act.
func recordOfSelection(s *deadletter.Selection) selectionRecord {
	out := selectionRecord{Kind: s.Kind, Source: s.Source, Origin: posturl.Redact(s.Origin),
		Template: s.Template, State: s.State, Type: s.Type, Text: s.Text, HeaderName: s.HeaderName,
		HeaderValue: s.HeaderValue, After: s.After.Ptr(),
		Before: s.Before.Ptr(), FirstAfter: s.FirstAfter.Ptr(), FirstBefore: s.FirstBefore.Ptr(), MinReplays: s.MinReplays,
		Replayed: s.Replayed, Retryable: s.Retryable, Parked: s.Parked, Reason: s.Reason, TaskState: s.TaskState}
	for _, id := range s.IDs {
		out.IDs = append(out.IDs, id.String())
	}
	for _, g := range s.Groups {
		out.Groups = append(out.Groups, g.String())
	}
	return out
}

func recordOfEdit(e *deadletter.Edit) *editRecord {
	if e == nil {
		return nil
	}
	out := &editRecord{DropHeaders: e.DropHeaders, Key: e.Key != nil}
	if e.Patch != nil {
		sum := sha256.Sum256(e.Patch)
		out.PatchSHA256 = hex.EncodeToString(sum[:])
	}
	for _, h := range e.SetHeaders {
		out.SetHeaders = append(out.SetHeaders, h.Name)
	}
	return out
}
