package demo

import (
	"strings"
	"unicode"
)

// Names has the operator and places in one spelling.
type Names struct {
	Airport  string `json:"airport"`
	State    string `json:"state"` // postal code
	Aircraft string `json:"aircraft"`
	Operator string `json:"operator"`
	// Corrected lists changed fields, not merely respelled ones.
	Corrected []string `json:"corrected,omitempty"`
}

// states maps the column's names to postal codes, for the fifty airports with the most strikes.
var states = map[string]string{
	"Arizona": "AZ", "California": "CA", "Colorado": "CO", "DC": "DC", "Florida": "FL", "Georgia": "GA", "Hawaii": "HI",
	"Illinois": "IL", "Indiana": "IN", "Kentucky": "KY", "Louisiana": "LA", "Maryland": "MD", "Massachusetts": "MA",
	"Michigan": "MI", "Minnesota": "MN", "Missouri": "MO", "Nebraska": "NE", "New Jersey": "NJ", "New York": "NY",
	"North Carolina": "NC", "Ohio": "OH", "Oklahoma": "OK", "Oregon": "OR", "Pennsylvania": "PA", "South Carolina": "SC",
	"Tennessee": "TN", "Texas": "TX", "Utah": "UT", "Washington": "WA",
}

// misplaced airports are reported in the wrong state: both serve Washington, DC, but are in Virginia.
var misplaced = map[string]string{
	"WASHINGTON DULLES INTL ARPT":   "VA",
	"RONALD REAGAN WASHINGTON NATL": "VA",
}

// operators has the names that rules cannot correct.
var operators = map[string]string{
	"ALLEGHENYAIRLINES":              "Allegheny Airlines",
	"EXPRESSJET (CONTINENTAL EXPRS)": "ExpressJet Airlines",
	"FEDEX EXPRESS":                  "FedEx Express",
	"JETBLUE AIRWAYS":                "JetBlue Airways",
	"AIRTRAN AIRWAYS":                "AirTran Airways",
	"SKYWEST AIRLINES":               "SkyWest Airlines",
	"COMMUTAIR":                      "CommutAir",
}

// airportWords spells the FAA's abbreviations out; ARPT adds nothing.
var airportWords = map[string]string{
	"INTL": "International", "NATL": "National", "ARPT": "", "AFB/INTL": "AFB/International",
	"WASH": "Washington", "LAGUARDIA": "LaGuardia", "(OR)": "", "NY": "",
}

// shortWords are initials.
var shortWords = map[string]bool{"US": true, "UPS": true, "ABX": true, "PSA": true}

// unknownOperator is the form's unnamed operator.
const unknownOperator = "UNKNOWN"

// normaliseNames refuses a report without an operator or about an unknown aircraft, and corrects everything else.
func normaliseNames(s Strike) (Names, error) {
	if s.Operator == unknownOperator {
		return Names{}, found(missingValue, "operator_unknown", s.Record, "operator", s.Operator,
			"names nobody who could answer for the report")
	}
	if strings.HasSuffix(s.Aircraft, " UNKN") {
		return Names{}, found(missingValue, "aircraft_unknown", s.Record, "aircraft", s.Aircraft,
			"names a maker but no model")
	}
	code, ok := states[s.State]
	if !ok {
		return Names{}, found(unknownValue, "state_unknown", s.Record, "state", s.State,
			"is not a state that has a listed airport")
	}
	n := Names{
		Airport:  airportName(s.Airport),
		State:    code,
		Aircraft: strings.Join(strings.Fields(s.Aircraft), " "), // "BE-90  KING"
		Operator: operatorName(s.Operator),
	}
	if right, wrong := misplaced[s.Airport]; wrong && right != code {
		n.State = right
		n.Corrected = append(n.Corrected, "state")
	}
	return n, nil
}

// airportName turns "CHICAGO O'HARE INTL ARPT" into "Chicago O'Hare
// International".
func airportName(s string) string {
	var words []string
	for _, w := range strings.Fields(s) {
		spelled, known := airportWords[w]
		if !known {
			spelled = capitalise(w)
		}
		if spelled != "" {
			words = append(words, spelled)
		}
	}
	return strings.Join(words, " ")
}

// operatorName turns "US AIRWAYS*" into "US Airways": the export lost the footnote.
func operatorName(s string) string {
	s = strings.TrimRight(s, "*")
	if name, ok := operators[s]; ok {
		return name
	}
	words := strings.Fields(s)
	for i, w := range words {
		if !shortWords[w] {
			words[i] = capitalise(w)
		}
	}
	return strings.Join(words, " ")
}

// capitalise keeps capitals behind non-letters: "DALLAS/FORT" becomes "Dallas/Fort".
func capitalise(w string) string {
	start := true
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			start = true
			return r
		}
		if start {
			start = false
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, w)
}
