package operate

import "time"

// Turn is the process that runs a loop which only one of those that share a database may run.
type Turn struct {
	Loop    string    `json:"loop"`
	Node    string    `json:"node"`     // of the process; a new one with each start
	TakenAt time.Time `json:"taken_at"` // when the process last renewed it
	Until   time.Time `json:"until"`    // when another process may take it
}
