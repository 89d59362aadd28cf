// Package cli is the command line of Tasker, one file per command.
//
// Results go to standard output, everything else to standard error. With --json a result is JSON, and an error is a
// problem (RFC 9457) in JSON. Text from other sources is cleaned of control characters before it reaches a terminal.
//
// Read main.go first: it has the process as a value, the session of one run, and the tree of commands. Then read one
// command from top to bottom, such as task_get.go. A command consists of
//
//   - a constructor newX(s), which declares flags and returns a *cobra.Command; it does nothing else, since all of them
//     run for every command line;
//   - a PreRunE that turns flags into a request. It fails with a usageError before anything is sent, so that a mistake
//     in a flag exits with 2 even if no server runs;
//   - a RunE that sends the request and passes the answer to a print method. s.onServer makes one of a function that
//     needs a client;
//   - a method printX, whose first lines handle --json: the JSON is the answer of the API, unchanged. Its text is for
//     people and may change; scripts use --json.
//
// Shared parts: connect.go connects to the server, flags.go and input.go read flags and files, print.go writes tables,
// fields and JSON, clean.go makes text harmless, exit.go selects the exit code, which exit_codes.go explains to users.
// Files named after a group (task.go, dlq.go, letter.go) have what its commands share.
//
// Tests are sessions in testdata: a script of command lines with their output, run against a real server. A change of
// an output shows there as a difference.
package cli
