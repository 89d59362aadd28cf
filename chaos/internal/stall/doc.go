// Package stall has a test only: two processes with the worker of the SDK, each behind a
// link to the server that stalls in one way after the other. Whatever arrives late, and
// however often, no step is settled twice.
package stall
