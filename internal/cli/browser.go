package cli

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser opens a page for the user of the terminal, and returns whether it tried: not on another machine's
// screen or without a screen. It does not wait, because the address is printed, too.
func (s *session) openBrowser(url string) bool {
	name, args := s.browser(runtime.GOOS)
	if name == "" || !s.Terminal {
		return false
	}
	// The browser outlives the command and any context.
	cmd := exec.CommandContext(context.Background(), name, append(args, url)...) //nolint:gosec // names of browser's
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // reaps the child
	return true
}

// browser returns the operating system's program for pages, "" for none. $BROWSER has priority, as usual.
func (s *session) browser(system string) (name string, args []string) {
	if own := strings.Fields(s.getenv("BROWSER")); len(own) > 0 {
		return own[0], own[1:]
	}
	if s.getenv("SSH_CONNECTION") != "" {
		return "", nil
	}
	switch system {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	if s.getenv("DISPLAY") == "" && s.getenv("WAYLAND_DISPLAY") == "" {
		return "", nil
	}
	return "xdg-open", nil
}
