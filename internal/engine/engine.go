package engine

import (
	"context"
)

// New returns an Engine. Invalid: the configuration breaks a rule. Other errors are the store's.
func New(ctx context.Context, db Database, opts Options) (*Engine, error) {
	list, err := featuresWithout(opts.Without)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(ctx, db, opts, list)
	if err != nil {
		return nil, err
	}
	e.joinCases()
	e.joinSubmit()
	e.joinActs()
	e.joinFlow()
	e.joinFigures()
	return e, nil
}
