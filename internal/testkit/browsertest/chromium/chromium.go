// Package chromium finds the browser for tests.
package chromium

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the program: the path of a Chromium or Chrome.
const Variable = "TASKER_TEST_CHROMIUM"

// names are the program's usual names, and paths on macOS.
var names = []string{
	"chromium", "google-chrome", "google-chrome-stable", "chromium-browser",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Program returns the program named by Variable, or one in the search path. The error is testserver.ErrMissing if there
// is none.
func Program() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return path, nil
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// Ubuntu's chromium-browser is a script with instructions for a snap.
		if err := exec.Command(path, "--version").Run(); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("chromium is %w: install the package chromium, or set %s to the path of a Chromium or Chrome",
		testserver.ErrMissing, Variable)
}
