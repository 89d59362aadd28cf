package config

import (
	"fmt"
	"net/url"
)

// DispatchNative dispatches ready steps through the database alone.
const DispatchNative = "native"

// CheckDispatch returns the problem with a Dispatch setting, nil for none. It checks the form
// up to the host; opening the dispatcher checks the rest. The error contains no password.
func CheckDispatch(text string) error {
	if text == DispatchNative {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "redis" && u.Scheme != "rediss": // what it is may show a password
		return fmt.Errorf("must be native or redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	case u.Host == "":
		return fmt.Errorf("names no host: redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	}
	return nil
}
