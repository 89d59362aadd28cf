package demo

import (
	"slices"
	"strconv"
	"time"
)

const (
	parked   = "Parked"
	taxi     = "Taxi"
	takeOff  = "Take-off run"
	climb    = "Climb"
	descent  = "Descent"
	approach = "Approach"
	landing  = "Landing Roll"
)

// Vocabularies of closed columns.
var (
	phases = []string{parked, taxi, takeOff, climb, descent, approach, landing}
	times  = []string{"Dawn", "Day", "Dusk", "Night"}
	sizes  = []string{"Small", "Medium", "Large"}
)

// Strike is a report with typed fields. Its meaning is left to the three checks.
type Strike struct {
	Record    int    `json:"record"`
	Date      string `json:"date"`
	Airport   string `json:"airport"`
	State     string `json:"state"`
	Aircraft  string `json:"aircraft"`
	Operator  string `json:"operator"`
	Phase     string `json:"phase"`
	Time      string `json:"time_of_day"`
	Size      string `json:"wildlife_size"`
	Species   string `json:"wildlife_species"`
	Damage    string `json:"damage"`
	OtherUSD  int    `json:"other_usd"`
	RepairUSD int    `json:"repair_usd"`
	SpeedKt   *int   `json:"speed_kt,omitempty"` // absent when not reported
}

func (s Strike) totalUSD() int { return s.OtherUSD + s.RepairUSD }

// firstStrike is the start of the FAA's collection: an earlier date is a typing error.
const firstStrike = "1990-01-01"

// parseRecord refuses a report with a required field that is empty, unreadable or outside its vocabulary.
func parseRecord(r Row) (Strike, error) {
	for _, f := range []struct{ field, value string }{
		{"airport", r.Airport}, {"state", r.State}, {"aircraft", r.Aircraft}, {"operator", r.Operator},
		{"wildlife_species", r.Species}, {"damage", r.Damage},
	} {
		if f.value == "" {
			return Strike{}, found(missingValue, "field_missing", r.Record, f.field, "", "is empty")
		}
	}
	for _, f := range []struct {
		field, value string
		words        []string
	}{{"phase", r.Phase, phases}, {"time_of_day", r.Time, times}, {"wildlife_size", r.Size, sizes}} {
		if !slices.Contains(f.words, f.value) {
			return Strike{}, found(unknownValue, "word_unknown", r.Record, f.field, f.value, "is not a word of this column")
		}
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return Strike{}, found(badFormat, "date_unreadable", r.Record, "date", r.Date, "is not a date of the form 1996-03-31")
	}
	if r.Date < firstStrike {
		return Strike{}, found(outOfRange, "date_too_early", r.Record, "date", r.Date,
			"is before the first report of "+firstStrike)
	}
	s := Strike{
		Record: r.Record, Date: r.Date, Airport: r.Airport, State: r.State, Aircraft: r.Aircraft, Operator: r.Operator,
		Phase: r.Phase, Time: r.Time, Size: r.Size, Species: r.Species, Damage: r.Damage,
	}
	if err := parseNumbers(r, &s); err != nil {
		return Strike{}, err
	}
	return s, nil
}

// parseNumbers compares the total with the sum of the other two costs and does not store it.
func parseNumbers(r Row, s *Strike) error {
	var total int
	for _, f := range []struct {
		field, value string
		to           *int
	}{{"cost_other", r.Other, &s.OtherUSD}, {"cost_repair", r.Repair, &s.RepairUSD}, {"cost_total", r.Total, &total}} {
		n, err := strconv.Atoi(f.value)
		if err != nil || n < 0 {
			return found(badFormat, "cost_unreadable", r.Record, f.field, f.value, "is not a whole number of dollars")
		}
		*f.to = n
	}
	if total != s.totalUSD() {
		return found(contradiction, "cost_sum_wrong", r.Record, "cost_total", r.Total,
			"is not the sum of cost_other "+r.Other+" and cost_repair "+r.Repair)
	}
	if r.Speed == "" {
		return nil
	}
	kt, err := strconv.Atoi(r.Speed)
	if err != nil || kt < 0 {
		return found(badFormat, "speed_unreadable", r.Record, "speed", r.Speed, "is not a whole number of knots")
	}
	s.SpeedKt = &kt
	return nil
}
