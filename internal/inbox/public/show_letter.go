package public

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/posturl"
	"github.com/taskerhq/tasker/internal/task"
)

// shownLetter converts a letter. Original and Edited are both shown, so that a caller sees what an edit would change.
func shownLetter(l *deadletter.Letter) deadletters.Letter {
	out := deadletters.Letter{
		LetterUUID: uuid.UUID(l.ID), Namespace: l.Namespace, Source: l.Source, Origin: posturl.Redact(l.Origin),
		Format: l.Format, Position: l.Position, MessageID: l.MessageID,
		State: l.State, StateAt: l.StateAt.Time(), DueAt: l.Due.Ptr(), Reason: l.Reason,
		RedriveUUID: optionalID(l.Redrive), PurgeAt: l.PurgeAt.Ptr(),
		GroupID: shownGroupID(l.Group), Failure: shownFailure(l.Failure, l.Stack), Handler: l.Handler,
		Occurrences: l.Occurrences, Attempts: l.Attempts, Replays: l.Replays, Parked: l.Parked,
		Lineage: l.Lineage, Unknown: l.Unknown, LinkedUUID: optionalID(l.Link.Letter), LinkedBy: string(l.Link.Kind),
		FirstAt: l.FirstAt.Time(), LastAt: l.LastAt.Time(), CapturedAt: l.CapturedAt.Time(),
		Original: shownContent(l.Original), SizeBytes: l.Size, Cut: l.Cut, Undecoded: l.Undecoded,
		PayloadOmitted: l.Size > 0 && len(l.Original.Payload) == 0,
		ETag:           etag(l.Version),
	}
	if l.Edited != nil {
		edited := shownContent(*l.Edited)
		out.Edited = &edited
	}
	return out
}

// shownOccurrence converts one time that a letter died. Its payload is only there if it differs from what was sent.
func shownOccurrence(o *deadletter.Occurrence) deadletters.Occurrence {
	var died deadletters.Content
	died.SetPayload(o.Payload)
	return deadletters.Occurrence{No: o.No, At: o.At.Time(), GroupID: shownGroupID(o.Group),
		Failure: shownFailure(o.Failure, o.Stack), Handler: o.Handler, Origin: posturl.Redact(o.Origin),
		Position: o.Position, Attempts: o.Attempts, RedriveUUID: optionalID(o.Redrive), Payload: died.Payload,
		PayloadBase64: died.PayloadBase64}
}

// shownLetterStory converts a letter with its history, the latest first.
func shownLetterStory(s *inbox.LetterStory) deadletters.LetterStory {
	out := deadletters.LetterStory{Letter: shownLetter(s.Letter), History: []deadletters.Occurrence{}}
	for i := range s.Occurrences {
		out.History = append(out.History, shownOccurrence(&s.Occurrences[i]))
	}
	if s.Group != nil {
		group := shownGroup(s.Group)
		out.Group = &group
	}
	return out
}

// etag returns the ETag of a version. Callers must not take it apart.
func etag(version int64) string { return strconv.FormatInt(version, 10) }

// optionalID returns nil for the zero ID.
func optionalID(id task.ID) *uuid.UUID {
	if id.IsZero() {
		return nil
	}
	out := uuid.UUID(id)
	return &out
}

// shownGroupID returns the ID of a group, "" for none.
func shownGroupID(id deadletter.GroupID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}
