// Package app turns a configuration into a running process. It is the one
// package that knows all the parts, and the one that starts goroutines for
// them.
package app
