package config

import (
	"fmt"
	"net/url"
)

// DispatchNative is the way of ready steps to workers through the database alone.
const DispatchNative = "native"

// CheckDispatch says what is wrong with how steps are to be dispatched. What the
// URL of a Redis says beyond its host is read by who opens it.
func CheckDispatch(text string) error {
	if text == DispatchNative {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // the error would show the password
		return fmt.Errorf("must be native or redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return fmt.Errorf("must be native or redis://[USER:PASSWORD@]HOST:PORT[/NUMBER], not %q", RedactDSN(text))
	case u.Host == "":
		return fmt.Errorf("names no host: redis://[USER:PASSWORD@]HOST:PORT[/NUMBER]")
	}
	return nil
}
