package tasker

import (
	"context"
	"net/http"
	"net/url"
)

type showSensitiveKey struct{}

// ShowSensitive returns a context for calls that read values which templates and sources mark as sensitive in clear
// text. Without it a server masks them for every key. The key needs the permission sensitive, and the audit trail
// records the calls. It changes only calls that read tasks, steps, cases, letters or the audit trail over HTTP: other
// reads are refused with CodeInvalid, and an engine in this process masks nothing.
func ShowSensitive(ctx context.Context) context.Context {
	return context.WithValue(ctx, showSensitiveKey{}, true)
}

// asking returns the query of a request, which asks for sensitive values if ctx does.
func asking(ctx context.Context, method string, query url.Values) url.Values {
	if show, _ := ctx.Value(showSensitiveKey{}).(bool); !show || method != http.MethodGet {
		return query
	}
	asked := url.Values{"sensitive": {"show"}}
	for name, values := range query {
		asked[name] = values
	}
	return asked
}
