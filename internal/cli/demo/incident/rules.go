package incident

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/cli/demo"
)

// strike is what the application stores of a report.
type strike struct {
	Operator, State, Damage, Phase, Species string
	SpeedKt, CostUSD                        int
}

// rule reads a part of a report into a strike, or says why it cannot.
type rule func(r *demo.Row, s *strike) error

// release is a version of the application. A report passes its rules in order; the first one that fails decides, so
// each report has one cause per release. Each rule of release 2.0 has a mistake that real code makes; its fix has the
// short name.
type release struct {
	name  string
	rules []rule
}

var (
	// release20 was deployed in the evening.
	release20 = release{"2.0", []rule{strictOperator, fullState, strictSpeed, gradedDamage, smallCost, exactPhase,
		namedSpecies}}
	// release21 is the fix of the morning. Its fix of the phase is wrong: no report has spaces there.
	release21 = release{"2.1", []rule{operator, state, speed, damage, cost, trimmedPhase, species}}
	// release22 corrects the phase.
	release22 = release{"2.2", []rule{operator, state, speed, damage, cost, phase, species}}
)

// reject is the error of a rule. Its kind is what the application reports as the type of the error.
type reject struct{ kind, message string }

// Error implements error.
func (e *reject) Error() string { return e.message }

// rejected makes a reject from a format.
func rejected(kind, format string, args ...any) error {
	return &reject{kind: kind, message: fmt.Sprintf(format, args...)}
}

// kindOf returns the type that the application reports for an error. It is part of the fingerprint.
func kindOf(err error) string {
	if r, ok := errors.AsType[*reject](err); ok {
		return r.kind
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return "strconv.NumError"
	}
	return fmt.Sprintf("%T", err)
}

// plainName is what release 2.0 thinks that names of operators look like.
var plainName = regexp.MustCompile(`^[A-Z0-9 &'./()-]+$`)

// strictOperator refuses the footnote mark of an airline that has merged: "US AIRWAYS*".
func strictOperator(r *demo.Row, s *strike) error {
	if !plainName.MatchString(r.Operator) {
		return rejected("BadOperator", "operator %q has a character that no name has", r.Operator)
	}
	s.Operator = r.Operator
	return nil
}

// operator accepts the mark and drops it.
func operator(r *demo.Row, s *strike) error {
	plain := *r
	plain.Operator = strings.TrimSuffix(r.Operator, "*")
	return strictOperator(&plain, s)
}

// fullState wants whole names of states, and forgets that the District of Columbia is none.
func fullState(r *demo.Row, s *strike) error {
	if len(r.State) < len("Iowa") {
		return rejected("BadState", "state %q is an abbreviation", r.State)
	}
	s.State = r.State
	return nil
}

// state knows the District of Columbia.
func state(r *demo.Row, s *strike) error {
	if r.State == "DC" {
		s.State = "District of Columbia"
		return nil
	}
	return fullState(r, s)
}

// strictSpeed fails if the speed was not reported: strconv.Atoi of nothing.
func strictSpeed(r *demo.Row, s *strike) (err error) {
	if s.SpeedKt, err = strconv.Atoi(r.Speed); err != nil {
		return fmt.Errorf("read speed: %w", err)
	}
	return nil
}

// speed takes a missing speed as not known.
func speed(r *demo.Row, s *strike) error {
	if r.Speed == "" {
		s.SpeedKt = -1 // not known
		return nil
	}
	return strictSpeed(r, s)
}

// gradedDamage knows the grades of the form, and not the mishap classes that the military reports.
func gradedDamage(r *demo.Row, s *strike) error {
	switch r.Damage {
	case "None", "Minor", "Medium", "Substantial":
		s.Damage = r.Damage
		return nil
	}
	return rejected("BadDamage", "damage %q is no grade", r.Damage)
}

// damage knows the mishap classes as well.
func damage(r *demo.Row, s *strike) error {
	switch r.Damage {
	case "A", "B", "C":
		s.Damage = "Class " + r.Damage
		return nil
	}
	return gradedDamage(r, s)
}

// smallCost reads the cost into 16 bits, so strikes above 32,767 dollars fail.
func smallCost(r *demo.Row, s *strike) error { return readCost(r, s, 16) }

// cost reads it into 64 bits.
func cost(r *demo.Row, s *strike) error { return readCost(r, s, 64) }

// readCost reads the total cost; an empty one is 0.
func readCost(r *demo.Row, s *strike, bits int) error {
	n, err := strconv.ParseInt(cmp.Or(r.Total, "0"), 10, bits)
	if err != nil {
		return fmt.Errorf("read cost: %w", err)
	}
	s.CostUSD = int(n)
	return nil
}

// phases are the codes of the phases of flight. The form writes "Landing Roll".
var phases = map[string]string{"Parked": "PRK", "Taxi": "TAX", "Take-off run": "TOR", "Climb": "CLB", "Descent": "DSC",
	"Approach": "APP", "Landing roll": "LDR"}

// exactPhase wants the phase as the code spells it.
func exactPhase(r *demo.Row, s *strike) error { return readPhase(r.Phase, s) }

// trimmedPhase is the fix that does not help: the difference is a capital letter, not a space.
func trimmedPhase(r *demo.Row, s *strike) error { return readPhase(strings.TrimSpace(r.Phase), s) }

// phase ignores case.
func phase(r *demo.Row, s *strike) error {
	for name := range phases {
		if strings.EqualFold(name, r.Phase) {
			return readPhase(name, s)
		}
	}
	return readPhase(r.Phase, s)
}

// readPhase stores the code of a phase.
func readPhase(name string, s *strike) error {
	code, ok := phases[name]
	if !ok {
		return rejected("BadPhase", "there is no phase %q", name)
	}
	s.Phase = code
	return nil
}

// namedSpecies wants a species, which most reporters could not tell.
func namedSpecies(r *demo.Row, s *strike) error {
	if strings.HasPrefix(r.Species, "Unknown") {
		return rejected("BadSpecies", "species %q is not identified", r.Species)
	}
	s.Species = r.Species
	return nil
}

// species takes what the form says.
func species(r *demo.Row, s *strike) error {
	s.Species = r.Species
	return nil
}
