package query

import "context"

// A Caller sends requests, as tasker.Client does.
type Caller[R any] interface {
	Call(ctx context.Context, request R, answer any) error
}

// Ask sends a request and decodes the answer.
func Ask[T, R any](ctx context.Context, c Caller[R], request R) (*T, error) {
	answer := new(T)
	if err := c.Call(ctx, request, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// List is Ask for an answer that is a list.
func List[T, R any](ctx context.Context, c Caller[R], request R) ([]T, error) {
	list, err := Ask[[]T](ctx, c, request)
	if err != nil {
		return nil, err
	}
	return *list, nil
}
