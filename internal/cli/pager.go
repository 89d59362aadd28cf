package cli

import (
	"bytes"
	"cmp"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// usualHeight is the height of a terminal that does not tell its own.
const usualHeight = 24

// page writes a text that may be longer than the terminal, through a pager if it is one. A pipe has none.
func (s *session) page(text []byte) error {
	height := cmp.Or(s.Rows, usualHeight)
	command := s.pager()
	if command == "" || bytes.Count(text, []byte("\n")) < height || s.runPager(command, text) != nil {
		return s.write(text)
	}
	return nil
}

// pager returns the command line of the pager, as git selects it; "" for none.
func (s *session) pager() string {
	if !s.Terminal || s.noPager || s.getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
		return ""
	}
	for _, name := range []string{"TASKER_PAGER", "PAGER"} {
		// Unlike a variable that is not set, an empty one asks for no pager.
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

// runPager runs the pager until its user leaves it. It returns an error if it did not start, so that nothing is lost.
func (s *session) runPager(command string, text []byte) error {
	// The user's own command line, as in git: it may have arguments and pipes.
	cmd := exec.Command("sh", "-c", "exec "+command) //nolint:gosec // it is the user's, not of anybody's data
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), s.Out, s.Err
	cmd.Env = s.Environ
	if s.getenv("LESS") == "" {
		cmd.Env = append(slices.Clone(s.Environ), "LESS=FRX") // quit below one screen, colours, no clearing
	}
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() < 126 { //nolint:errorlint // Run does not wrap it
		return nil // the user left, or a part of the text was enough
	}
	return err
}
