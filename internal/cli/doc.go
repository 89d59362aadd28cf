// Package cli is the command line of Tasker, one file per command.
//
// Results go to standard output, everything else to standard error. With
// --json a result is JSON, and an error is a problem (RFC 9457) in JSON. Text
// that came from elsewhere is cleaned of control characters before it reaches
// a terminal.
//
// The exit codes are documented for users in exit_codes.go and chosen in
// exit.go.
package cli
