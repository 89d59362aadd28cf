package cli

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser opens a page in the browser of whoever watches the terminal, and returns whether it tried. It does not
// try where the window would be on another machine's screen, or where there is no screen. It does not wait for the
// browser: whether one opens is of no consequence, because the address is printed, too.
func (s *session) openBrowser(url string) bool {
	name, args := s.browser(runtime.GOOS)
	if name == "" || !s.Terminal {
		return false
	}
	// The browser outlives the command, so no context may end it.
	cmd := exec.CommandContext(context.Background(), name, append(args, url)...) //nolint:gosec // names of browser's
	if cmd.Start() != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // a child that has ended would stay as a zombie
	return true
}

// browser returns the program that opens a page on an operating system, "" for none. $BROWSER comes first, as for most
// programs.
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
