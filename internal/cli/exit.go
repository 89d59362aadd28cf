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

// usageError exits with 2: an error of the command line or the configuration.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitError ends a command whose output has reported the problem.
type exitError int

// Error is for callers that print it; finish does not.
func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

var errTimedOut = errors.New("the timeout is over")

// finish prints a command's error on standard error, as text or, with --json, as a problem, and returns the exit
// code. An interrupt prints nothing.
func (s *session) finish(ctx context.Context, err error) int {
	code := s.exitCode(ctx, err)
	var quiet exitError
	if err == nil || errors.As(err, &quiet) || code == exitInterrupted {
		return code
	}
	if s.json || slices.Contains(s.Args, "--json") { // the flags may not be parsed
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

// exitCode maps errors of this process first, then the codes of the API. newExitCodes lists every code.
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
	// First, because an invalid URL in --server has an API code but is a usage error.
	case !s.begun, errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errTimedOut):
		return exitTimedOut
	// A request may be cancelled by its own time-out, and a command may fail during Ctrl-C.
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

// problem is an error as RFC 9457 problem details with the members of the HTTP API and the exit code.
type problem struct {
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Detail string          `json:"detail"`
	Code   tasker.Code     `json:"code"`
	Hint   string          `json:"hint,omitempty"`
	Errors []tasker.Detail `json:"errors,omitempty"`
	Exit   int             `json:"exit_code"`
}

// A usage error has no API code and gets "invalid".
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

// usedCommand returns the path of the named command, up to the first unknown word. It builds a second tree, because
// cobra does not tell which command failed to parse.
func (s *session) usedCommand() string {
	cmd, _, err := newRoot(s).Find(s.Args[min(1, len(s.Args)):])
	if err != nil || cmd == nil {
		return s.name
	}
	return cmd.CommandPath()
}

// knownCommand refuses an argument of a group, and suggests similar commands.
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

// newExitCodes is a help topic: cobra shows a command without a body as one. Scripts may rely on the codes across
// versions.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Explain the exit codes",
		Long: `Exit codes:

    0  success
    1  failure. task wait: the task is in error or cancelled; doctor: a check fails;
       copy: the databases differ; dlq detect: a task could not be set to error;
       migrate status: migrations are pending
    2  the command line or the configuration is invalid; nothing was done
    3  the task, step, case, template or worker does not exist
    4  conflict: it exists with different content, or its state does not allow the act
    5  unavailable: the server or its database does not answer or is overloaded; retry later
    6  not allowed: the API key is missing, unknown, or lacks the permission
    7  refused: the input is invalid or too large; nothing was stored
    8  the timeout expired first
    9  doctor: there are warnings, and no check fails
  130  interrupted`,
	}
}
