// Package cli is the command line of Tasker, one file per command.
//
// Results go to standard output, everything else to standard error. With --json a result is JSON, and an
// error is a problem (RFC 9457) in JSON. Text from other sources is cleaned of control characters before it
// reaches a terminal.
//
// Users find the exit codes in exit_codes.go; exit.go selects them. Read main.go first.
package cli
