package tasker

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Priority is the name of a level ("high", "medium", "low", or one of the server's table, in
// any case) or a decimal level from 0 to 100; a higher level runs first. In JSON a name is a
// string and a level an integer; a string that holds a level is accepted too. "" means the
// default: that of the template, else medium.
type Priority string

// The priorities that every server knows.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// Level returns the Priority of level n. A level outside of 0 to 100 is refused by the server,
// not here.
func Level(n int) Priority { return Priority(strconv.Itoa(n)) }

// MarshalJSON encodes a level as an integer and a name as a string.
func (p Priority) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(p)); err == nil {
		return strconv.AppendInt(nil, int64(n), 10), nil
	}
	return json.Marshal(string(p))
}

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
