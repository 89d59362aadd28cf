package config

import (
	"fmt"
	"net/url"

	"github.com/taskerhq/tasker/internal/broker/dispatch"
)

// DispatchNative dispatches ready steps through the database alone.
const DispatchNative = "native"

// CheckDispatch returns the problem of a Dispatch setting, without its password, or nil. It checks the form up to
// the host, and whether the program links the driver; opening the dispatcher checks the rest.
func CheckDispatch(text string) error {
	if text == DispatchNative {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "redis" && u.Scheme != "rediss": // the text may contain a password
		return fmt.Errorf("must be native or redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	case u.Host == "":
		return fmt.Errorf("names no host: redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	}
	return dispatch.Queues.Missing(dispatch.Redis)
}
