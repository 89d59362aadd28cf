// Package nesting lets a store refuse what must not happen while a transaction is open: a query outside of it, and a
// second transaction.
//
// A transaction on PostgreSQL holds a connection. If it waits for a second one, as many transactions as the pool has
// connections wait for each other until their time is up; on SQLite a second transaction would wait for the first one
// for ever. And what such a query reads is older than what the transaction has written. So stores refuse it at once,
// every time, and not only under load: any test that passes such a place fails.
//
// A store gives the function of a transaction a context of Enter, and calls Check with the context of everything that
// does not belong to a transaction.
package nesting

import (
	"context"
	"errors"
	"sync/atomic"
)

// Err reports a bug of the caller: a query or a transaction that does not belong to the transaction in which it runs.
// What a transaction needs is read through it, or before it begins.
var Err = errors.New("a transaction is open, and this does not belong to it")

// Context is the context of a transaction. Those that are derived from it are, too.
type Context struct {
	context.Context
	ended atomic.Bool
}

// Enter returns the context of a transaction that begins.
func Enter(ctx context.Context) *Context { return &Context{Context: ctx} }

// Leave ends the transaction: who still has its context may query and write again. Leaving twice is harmless.
func (c *Context) Leave() { c.ended.Store(true) }

// key is the key under which a Context finds itself.
type key struct{}

// Value implements context.Context.
func (c *Context) Value(k any) any {
	if k == (key{}) {
		return c
	}
	return c.Context.Value(k)
}

// Check returns Err for the context of an open transaction, and nil for any other.
func Check(ctx context.Context) error {
	if c, ok := ctx.Value(key{}).(*Context); ok && !c.ended.Load() {
		return Err
	}
	return nil
}
