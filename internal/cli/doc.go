// Package cli is the command line of Tasker, one file per command.
//
// Results go to standard output, everything else to standard error. With --json a result is JSON, and an error is a
// problem (RFC 9457) in JSON. Foreign text is cleaned of control characters before it reaches a terminal.
//
// Read main.go first: it has the process as a value, the session of one run, and the tree of commands. Then read
// one command, such as task_get.go. A command consists of
//
//   - a constructor newX(s), which only declares flags and returns a *cobra.Command, since all run for every
//     command line;
//   - a PreRunE that turns flags into a request. It fails with a usageError before anything is sent, so that a
//     mistake exits with 2 even without a server;
//   - a RunE that sends the request and prints the answer. s.onServer makes one of a function that takes a
//     client, and answered prints the answer unchanged with --json;
//   - a method printX, whose text is for people and may change.
//
// Shared parts: connect.go connects to the server, flags.go and input.go read flags and files, print.go writes
// tables, fields and JSON, clean.go makes text harmless, exit.go selects the exit code, and explains
// all codes to users. A group's file (task.go, dlq.go, letter.go) has the shared parts of its commands.
//
// Tests are sessions in testdata: command lines with their output, run against a real server.
package cli
