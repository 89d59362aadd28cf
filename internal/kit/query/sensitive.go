package query

import "context"

type showKey struct{}

// ShowSensitive returns a context for requests that ask for sensitive values in clear text.
func ShowSensitive(ctx context.Context) context.Context {
	return context.WithValue(ctx, showKey{}, true)
}

// ShowsSensitive reports whether ctx is of ShowSensitive.
func ShowsSensitive(ctx context.Context) bool {
	show, _ := ctx.Value(showKey{}).(bool)
	return show
}
