// Package nesting lets a store refuse a query outside of an open transaction, and a second transaction.
//
// A transaction on PostgreSQL holds a connection. If it waits for a second one, as many transactions as the pool has
// connections wait for each other until their time-outs; on SQLite a second transaction would wait for the first
// without end. And such a query does not see the transaction's writes. So stores refuse it every time, not only under
// load: any test of such code fails.
//
// A store passes the function of a transaction a context of Enter, and calls Check with the context of every other
// operation.
package nesting

import (
	"context"
	"errors"
	"sync/atomic"
)

// Err reports a bug of the caller: a query or a transaction inside another transaction. Reads must go through the
// transaction, or precede it.
var Err = errors.New("a transaction is open, and this does not belong to it")

// Context is the context of a transaction, including derived ones.
type Context struct {
	context.Context
	ended atomic.Bool
}

// Enter returns the context of a transaction that begins.
func Enter(ctx context.Context) *Context { return &Context{Context: ctx} }

// Leave ends the transaction: its context may be used for queries and writes again. Leaving twice is harmless.
func (c *Context) Leave() { c.ended.Store(true) }

type key struct{}

// Value implements context.Context.
func (c *Context) Value(k any) any {
	if k == (key{}) {
		return c
	}
	return c.Context.Value(k)
}

// Check returns Err for the context of an open transaction, else nil.
func Check(ctx context.Context) error {
	if c, ok := ctx.Value(key{}).(*Context); ok && !c.ended.Load() {
		return Err
	}
	return nil
}
