package operate

import "time"

// Turn is which process runs a loop that must run in one process only, of those that share a database.
type Turn struct {
	Loop    string    `json:"loop"`
	Node    string    `json:"node"`     // of the process; a new one with each start
	TakenAt time.Time `json:"taken_at"` // when the process last asked for it
	Until   time.Time `json:"until"`    // when another process may take it
}
