package inbox

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

type reportHeaders struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" doc:"Same as idempotency_key of the body."`
}

// report accepts the idempotency key as a header, in the body, or the same in both.
func (f *family) report(ctx context.Context, params *reportHeaders, body *deadletters.ReportRequest,
) (endpoint.Results[deadletters.Receipt], error) {
	switch {
	case body.IdempotencyKey == "":
		body.IdempotencyKey = params.IdempotencyKey
	case params.IdempotencyKey != "" && params.IdempotencyKey != body.IdempotencyKey:
		return endpoint.Results[deadletters.Receipt]{}, endpoint.BadParameter("/idempotency_key",
			"must be what the header Idempotency-Key says, or be left out")
	}
	receipts, err := endpoint.Reaching(ctx, body.Namespace, f.backend.Report, body)
	return endpoint.ResultsOf(receipts), err
}

// LetterQuery holds the filters of letters, to embed.
type LetterQuery struct {
	Letters     []string  `query:"letter_uuid,explode" doc:"UUIDs of letters; repeatable up to 100 times."`
	Groups      []string  `query:"group_id,explode" doc:"IDs of groups; repeatable up to 100 times."`
	Namespace   string    `query:"namespace" maxLength:"255"`
	Source      string    `query:"source" maxLength:"255"`
	Origin      string    `query:"origin" maxLength:"255"`
	State       string    `query:"state" enum:"open,scheduled,redriving,redriven,discarded"`
	ErrorType   string    `query:"error_type" maxLength:"255"`
	Text        string    `query:"text" maxLength:"255" doc:"Literal part of an error message or a payload."`
	HeaderName  string    `query:"header_name" maxLength:"255" doc:"Letters with this header."`
	HeaderValue string    `query:"header_value" maxLength:"1024" doc:"Its value."`
	After       time.Time `query:"after" doc:"Died last at or after this time."`
	Before      time.Time `query:"before" doc:"Died last before this time."`
	MinReplays  int       `query:"min_replays" minimum:"0" maximum:"1000" doc:"Sent back at least that often."`
	Parked      string    `query:"parked" enum:"true,false"`
}

// selection is limited to the namespaces of the request's key. It checks what the types of a query cannot express: a
// UUID in a list, a value without its header's name, too many repetitions.
func (q *LetterQuery) selection(ctx context.Context) (deadletters.Selection, error) {
	s := deadletters.Selection{Kind: deadletters.KindLetter, Source: q.Source, Origin: q.Origin,
		State: deadletters.LetterState(q.State), ErrorType: q.ErrorType, Text: q.Text, HeaderName: q.HeaderName,
		HeaderValue: q.HeaderValue, After: q.After, Before: q.Before, MinReplays: q.MinReplays,
		Groups: endpoint.SplitAll(q.Groups)}
	if q.HeaderValue != "" && q.HeaderName == "" {
		return s, endpoint.BadParameter("query.header_value", "needs header_name")
	}
	letters := endpoint.SplitAll(q.Letters)
	if len(s.Groups) > endpoint.MaxRepeats || len(letters) > endpoint.MaxRepeats {
		return s, tasker.Errorf(tasker.CodeInvalid, "a parameter may repeat at most %d times", endpoint.MaxRepeats)
	}
	for _, word := range letters {
		id, err := uuid.Parse(word)
		// uuid.Parse accepts other notations; the API has one.
		if err != nil || len(word) != 36 {
			return s, endpoint.BadParameter("query.letter_uuid", "must be a UUID such as 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")
		}
		s.IDs = append(s.IDs, id)
	}
	if q.Parked != "" {
		parked, _ := strconv.ParseBool(q.Parked) // true or false: see enum
		s.Parked = &parked
	}
	var err error
	s.Namespace, err = endpoint.NarrowNamespace(ctx, q.Namespace)
	return s, err
}

type letterFilter struct {
	LetterQuery
	endpoint.PageQuery
}

// letters needs a permission that covers payloads, which a list has up to 1 KiB. A page may be short or empty and have
// a next one: a search reads a bounded number of rows.
func (f *family) letters(ctx context.Context, params *letterFilter, _ *none) (*deadletters.LetterPage, error) {
	selection, err := params.selection(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Letters(ctx, deadletters.LetterFilter{Selection: selection, Limit: params.Limit,
		Cursor: params.Cursor})
}

// LetterPath names a letter, to embed.
type LetterPath struct {
	UUID uuid.UUID `path:"letter_uuid" doc:"The letter."`
}

func (p LetterPath) key() uuid.UUID { return p.UUID }

type letterAct struct {
	LetterPath
	endpoint.Match
}

// editLetter tries the edit before it is stored: one that does not apply is invalid, with the place of the failing
// operation.
func (f *family) editLetter(ctx context.Context, params *letterAct, body *deadletters.LetterEdit,
) (*deadletters.Letter, error) {
	if err := f.masker.RefuseEdit(ctx, params.UUID, "", &body.Edit); err != nil {
		return nil, err
	}
	return f.backend.EditLetter(ctx, params.UUID, *body)
}

// GroupPath names a group, to embed.
type GroupPath struct {
	ID string `path:"group_id" minLength:"16" maxLength:"16" doc:"The group: 16 hexadecimal digits."`
}

func (p GroupPath) key() string { return p.ID }

type groupAct struct {
	GroupPath
	endpoint.Match
}

// groups: a key with one namespace need not name it; a key with several must name one.
func (f *family) groups(ctx context.Context, filter *deadletters.GroupFilter, _ *none) (*deadletters.GroupPage, error) {
	return endpoint.Narrowed(ctx, &filter.Namespace, f.backend.Groups, filter)
}

// group leaves out the sample, which is a letter, for a key that may not read letters.
func (f *family) group(ctx context.Context, params *GroupPath, _ *none) (*deadletters.GroupStory, error) {
	story, err := f.backend.Group(ctx, params.ID)
	if err == nil && !seesContent(ctx) {
		story.Sample = nil
	}
	return story, err
}

func (f *family) changeGroups(ctx context.Context, _ *none, body *deadletters.GroupsChange,
) (*deadletters.ChangedGroups, error) {
	return f.backend.ChangeGroups(ctx, *body)
}
