package public

import (
	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
)

// shownContent converts a message: what is JSON or text becomes that, anything else base64.
func shownContent(c deadletter.Content) deadletters.Content {
	out := deadletters.Content{Headers: shownHeaders(c.Headers)}
	out.SetKey(c.Key)
	out.SetPayload(c.Payload)
	return out
}

func shownHeaders(list []deadletter.Header) []deadletters.Header {
	var out []deadletters.Header
	for _, h := range list {
		out = append(out, deadletters.NewHeader(h.Name, h.Value))
	}
	return out
}

func shownFailure(r failure.Report, stack string) deadletters.LetterFailure {
	return deadletters.LetterFailure{Type: r.Type, Code: r.Code, Message: r.Message, Class: tasker.FailureClass(r.Class),
		Retryable: &r.Retryable, Stack: stack}
}

// shownEdit converts an edit; nil for none. The key uses the forms of a message's key.
func shownEdit(e *deadletter.Edit) *deadletters.Edit {
	if e == nil {
		return nil
	}
	var key deadletters.Content
	key.SetKey(e.Key)
	return &deadletters.Edit{Patch: e.Patch, SetHeaders: shownHeaders(e.SetHeaders), DropHeaders: e.DropHeaders,
		Key: key.Key, KeyBase64: key.KeyBase64}
}
