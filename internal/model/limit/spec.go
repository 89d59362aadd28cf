package limit

// Spec is a limit of a template, on steps in progress or on how many begin in a time.
type Spec struct {
	Key     string `json:"key,omitempty"`
	Permits int    `json:"permits,omitempty"` // steps at once; 0 for a rate
	Rate    Rate   `json:"rate,omitzero"`
}

// MaxPermits bounds the permits of a limit.
const MaxPermits = 100_000

// Kinds of limits; names of gates begin with them.
const (
	Concurrency = "concurrency"
	Throughput  = "rate"
)

// Kind is the kind of the limit.
func (s Spec) Kind() string {
	if s.Permits > 0 {
		return Concurrency
	}
	return Throughput
}

// Gate is where a limit holds back steps of one key.
type Gate struct {
	Name    string // of the limit: its kind and what it limits, such as "concurrency of step charge of orders"
	Key     Key
	Permits int
	Rate    Rate
}

// GateOf returns the gate of a limit. An unreadable key is a constant one: its steps share the limit.
func (s Spec) GateOf(of string) Gate {
	key, err := ParseKey(s.Key)
	if err != nil {
		key = Key{Texts: []string{s.Key}}
	}
	return Gate{Name: s.Kind() + " of " + of, Key: key, Permits: s.Permits, Rate: s.Rate}
}
