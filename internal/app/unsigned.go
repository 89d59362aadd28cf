package app

import (
	"net/http"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/dashboard"
)

// unsigned is the sessions of a server without keys: there are none. Requests of other origins are refused before.
type unsigned struct{ dashboard.Sessions }

func (unsigned) Principal(*http.Request) (*access.Principal, error) { return nil, nil }
func (unsigned) Token(http.ResponseWriter, *http.Request) string    { return "" }
func (unsigned) Check(*http.Request) error                          { return nil }
