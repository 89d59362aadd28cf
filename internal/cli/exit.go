package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// Exit codes; newExitCodes explains them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnavailable = 5
	exitForbidden   = 6
	exitRefused     = 7
	exitTimedOut    = 8
	exitWarned      = 9
	exitInterrupted = 130
)

// usageError is an error of the command line or the configuration. It exits with 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef makes a usageError from a format.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitError ends a command with an exit code and no further message: its output has already reported the
// problem.
type exitError int

// Error is for a caller that prints the error anyway; finish does not.
func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// errTimedOut is the cause of a context whose --timeout has expired.
var errTimedOut = errors.New("the timeout is over")

// finish prints the error of a command, if any, and returns the exit code. The error goes to
// standard error, as text or, with --json, as a problem. An interrupt prints nothing.
func (s *session) finish(ctx context.Context, err error) int {
	code := s.exitCode(ctx, err)
	var quiet exitError
	if err == nil || errors.As(err, &quiet) || code == exitInterrupted {
		return code
	}
	if s.json || slices.Contains(s.Args, "--json") { // the flags may not have been read
		s.printProblem(err, code)
		return code
	}
	name := s.name + ":"
	if s.colored(s.ErrTerminal) {
		name = paint(red, name)
	}
	fmt.Fprintf(s.Err, "%s %s\n", name, cleanLines(err.Error()))
	if tasker.ErrorCode(err) == tasker.CodeUnauthenticated && s.key() == "" {
		fmt.Fprintln(s.Err, "No API key was sent: set TASKER_API_KEY, or give --api-key.")
	}
	if code == exitUsage && !s.begun {
		fmt.Fprintf(s.Err, "Run '%s --help' for usage.\n", s.usedCommand())
	}
	return code
}

// exitCode maps an error to an exit code. Errors of this process come first; all others have a
// code of the API, and the exit code follows from it. Every code is listed in exit_codes.go.
func (s *session) exitCode(ctx context.Context, err error) int {
	var (
		quiet exitError
		usage usageError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quiet):
		return int(quiet)
	// This precedes the codes of the API: an invalid URL in --server has a code too, and is still a matter of the
	// command line.
	case !s.begun, errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errTimedOut):
		return exitTimedOut
	// Both conditions are needed: a request may be cancelled by its own timeout, and a command may fail while the user
	// presses Ctrl-C.
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	switch tasker.ErrorCode(err) {
	case tasker.CodeNotFound:
		return exitNotFound
	case tasker.CodeConflict, tasker.CodeWrongState, tasker.CodeStaleToken:
		return exitConflict
	case tasker.CodeUnavailable, tasker.CodeExhausted:
		return exitUnavailable
	case tasker.CodeUnauthenticated, tasker.CodeForbidden:
		return exitForbidden
	case tasker.CodeInvalid, tasker.CodeTooLarge:
		return exitRefused
	}
	return exitFailure
}

// problem is an error as RFC 9457 problem details, with the members of the HTTP API and the
// exit code.
type problem struct {
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Detail string          `json:"detail"`
	Code   tasker.Code     `json:"code"`
	Hint   string          `json:"hint,omitempty"`
	Errors []tasker.Detail `json:"errors,omitempty"`
	Exit   int             `json:"exit_code"`
}

// printProblem writes an error as one line of JSON. An error of the command line has no code of
// the API, so it gets "invalid".
func (s *session) printProblem(err error, exit int) {
	p := problem{Type: "about:blank", Detail: err.Error(), Code: tasker.ErrorCode(err), Exit: exit}
	if p.Code == tasker.CodeInternal && exit == exitUsage {
		p.Code = tasker.CodeInvalid
	}
	var e *tasker.Error
	if errors.As(err, &e) {
		p.Detail, p.Hint, p.Errors = e.Message, e.Hint, e.Details
	}
	p.Title = strings.ReplaceAll(string(p.Code), "_", " ")
	line, err := json.Marshal(p)
	if err != nil {
		fmt.Fprintf(s.Err, "%s: print problem: %v\n", s.name, err)
		return
	}
	fmt.Fprintf(s.Err, "%s\n", cleanJSON(line))
}

// usedCommand returns the path of the command that the arguments name, up to the first unknown
// word. It builds a second tree of commands, because cobra does not tell which command failed
// to parse.
func (s *session) usedCommand() string {
	cmd, _, err := newRoot(s).Find(s.Args[min(1, len(s.Args)):])
	if err != nil || cmd == nil {
		return s.name
	}
	return cmd.CommandPath()
}

// knownCommand refuses an argument of a command that only groups others, and suggests commands
// with a similar name.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(msg)
}
