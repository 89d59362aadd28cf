package tasker

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Priority is a level's name ("high", "medium", "low", or one of the server's
// table) or a decimal level from 0 to 100; a higher level goes first.
type Priority string

// The priorities that every server knows.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// Level is the Priority of a bare level.
func Level(n int) Priority { return Priority(strconv.Itoa(n)) }

// UnmarshalJSON accepts a string or an integer.
func (p *Priority) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*p = Priority(s)
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("priority must be a level's name or an integer level")
	}
	*p = Level(n)
	return nil
}
