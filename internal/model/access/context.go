package access

import "context"

type principalKey struct{}

// With returns a context that carries the principal of a request.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the principal that With stored; nil on a server without keys and outside a request.
func From(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
