package cli

import (
	"bytes"
	"cmp"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// usualHeight is for terminals of unknown height.
const usualHeight = 24

// paged collects a command's text for a pager if it is longer than the terminal. JSON, and commands that print
// while they wait, are not paged.
func (s *session) paged(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if s.json || s.pager() == "" {
			return run(cmd, args)
		}
		s.collected = new(bytes.Buffer)
		err := run(cmd, args)
		text := s.collected.Bytes()
		s.collected = nil
		if writing := s.page(text); writing != nil {
			return writing
		}
		return err
	}
}

// page writes a text through a pager on a terminal that is too short.
func (s *session) page(text []byte) error {
	height := cmp.Or(s.Rows, usualHeight)
	command := s.pager()
	short := bytes.Count(text, []byte("\n")) < height
	if command == "" || s.collected != nil || short || s.runPager(command, text) != nil {
		return s.write(text)
	}
	return nil
}

// pager selects the pager like git; "" for none.
func (s *session) pager() string {
	if !s.Terminal || s.noPager || s.getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
		return ""
	}
	for _, name := range []string{"TASKER_PAGER", "PAGER"} {
		// An empty variable disables the pager.
		if i := slices.IndexFunc(s.Environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }); i >= 0 {
			value := strings.TrimPrefix(s.Environ[i], name+"=")
			if value == "cat" {
				value = ""
			}
			return value
		}
	}
	return "less"
}

// runPager runs the pager to its end. It fails if the pager did not start, so that nothing is lost.
func (s *session) runPager(command string, text []byte) error {
	// The user's command line may have arguments and pipes, as in git.
	cmd := exec.Command("sh", "-c", "exec "+command) //nolint:gosec // it is the user's, not of anybody's data
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), s.Out, s.Err
	cmd.Env = s.Environ
	if s.getenv("LESS") == "" {
		cmd.Env = append(slices.Clone(s.Environ), "LESS=FRX") // quit below one screen, colours, no clearing
	}
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() < 126 { //nolint:errorlint // Run does not wrap it
		return nil // the user left early
	}
	return err
}
