// Package app turns a configuration into a running process. Run is its main function; it connects all parts
// and starts their goroutines. Schema opens the configured database for migrations only.
package app
