package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/testkit/browsertest/chromium"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// flags make browsers equal on all machines and offline.
var flags = []string{
	"--headless", "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--mute-audio", "--hide-scrollbars",
	"--lang=en-US", "--force-color-profile=srgb", "--force-device-scale-factor=1", "--font-render-hinting=none",
	"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
	"--disable-extensions", "--disable-breakpad", "--disable-client-side-phishing-detection", "--metrics-recording-only",
	"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
	"--no-pings", "--no-proxy-server", "--password-store=basic", "--use-mock-keychain",
	"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
	// A covered tab continues to work.
	"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding", "--disable-hang-monitor", "--disable-ipc-flooding-protection",
	// /dev/shm of a container is often too small.
	"--disable-dev-shm-usage",
	// The browser chooses a port and writes it to a file in the profile.
	"--remote-debugging-port=0", "--user-data-dir=profile", "about:blank",
}

// lastAct ends the browser and its helpers, which are one process group, and lets them exit before their directory is
// removed.
const lastAct = `kill -s KILL -- "-$(cat pid)"; sleep 0.2`

type browser struct {
	server   *testserver.Server
	debugger string // its address
}

// shared is the browser of this process, started at first use. It is stopped when the process is gone, so no test
// closes it.
var shared = sync.OnceValues(launch)

func launch() (*browser, error) {
	program, err := chromium.Program()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("chromium", lastAct)
	if err != nil {
		return nil, err
	}
	b := &browser{}
	b.server = &testserver.Server{
		Name: "Chromium", Home: home, Kill: os.Kill,
		Program: func(int) (*exec.Cmd, error) {
			cmd := home.Command(program, append(confinement(), flags...)...)
			cmd.Env = append(cmd.Env, "HOME="+home.Dir, "TMPDIR="+home.Dir)
			return cmd, nil
		},
		Greet: func(context.Context, int) (err error) {
			b.debugger, err = debugger(filepath.Join(home.Dir, "profile", "DevToolsActivePort"))
			return err
		},
	}
	return b, b.server.Begin()
}

// confinement disables the sandbox where it does not work: containers, usual for CI and root, do not let the browser
// create name spaces. All pages are ours.
func confinement() []string {
	if os.Geteuid() == 0 || os.Getenv("CI") == "true" {
		return []string{"--no-sandbox"}
	}
	return nil
}

func debugger(file string) (address string, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the address of the debugger: %w", err)
	}
	port, path, ok := strings.Cut(strings.TrimSpace(string(raw)), "\n")
	if !ok {
		return "", errors.New("the browser has not yet written the address of its debugger")
	}
	return "ws://127.0.0.1:" + port + path, nil
}
