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

type strike struct {
	Operator, State, Damage, Phase, Species string
	SpeedKt, CostUSD                        int
}

// rule reads a part of a report into a strike.
type rule func(r *demo.Row, s *strike) error

// release is a version of the application. The first failing rule decides, so each report has one cause per
// release. Each rule of release 2.0 has a realistic mistake; its fix has the short name.
type release struct {
	name  string
	rules []rule
}

var (
	// release20 was deployed in the evening.
	release20 = release{"2.0", []rule{strictOperator, fullState, strictSpeed, gradedDamage, smallCost, exactPhase,
		namedSpecies}}
	// release21 is the morning's fix. Its fix of the phase is wrong: no report has spaces there.
	release21 = release{"2.1", []rule{operator, state, speed, damage, cost, trimmedPhase, species}}
	// release22 corrects the phase.
	release22 = release{"2.2", []rule{operator, state, speed, damage, cost, phase, species}}
)

// reject is a rule's error; the application reports kind as the type.
type reject struct{ kind, message string }

func (e *reject) Error() string { return e.message }

func rejected(kind, format string, args ...any) error {
	return &reject{kind: kind, message: fmt.Sprintf(format, args...)}
}

// kindOf is part of the fingerprint.
func kindOf(err error) string {
	if r, ok := errors.AsType[*reject](err); ok {
		return r.kind
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return "strconv.NumError"
	}
	return fmt.Sprintf("%T", err)
}

// plainName is release 2.0's idea of operators' names.
var plainName = regexp.MustCompile(`^[A-Z0-9 &'./()-]+$`)

// strictOperator refuses the mark of a merged airline: "US AIRWAYS*".
func strictOperator(r *demo.Row, s *strike) error {
	if !plainName.MatchString(r.Operator) {
		return rejected("BadOperator", "operator %q has a character that no name has", r.Operator)
	}
	s.Operator = r.Operator
	return nil
}

func operator(r *demo.Row, s *strike) error {
	plain := *r
	plain.Operator = strings.TrimSuffix(r.Operator, "*")
	return strictOperator(&plain, s)
}

// fullState wants full names of states, which lack the District of Columbia.
func fullState(r *demo.Row, s *strike) error {
	if len(r.State) < len("Iowa") {
		return rejected("BadState", "state %q is an abbreviation", r.State)
	}
	s.State = r.State
	return nil
}

func state(r *demo.Row, s *strike) error {
	if r.State == "DC" {
		s.State = "District of Columbia"
		return nil
	}
	return fullState(r, s)
}

// strictSpeed fails for an unreported speed: strconv.Atoi of "".
func strictSpeed(r *demo.Row, s *strike) (err error) {
	if s.SpeedKt, err = strconv.Atoi(r.Speed); err != nil {
		return fmt.Errorf("read speed: %w", err)
	}
	return nil
}

func speed(r *demo.Row, s *strike) error {
	if r.Speed == "" {
		s.SpeedKt = -1 // unknown
		return nil
	}
	return strictSpeed(r, s)
}

// gradedDamage lacks the military's mishap classes.
func gradedDamage(r *demo.Row, s *strike) error {
	switch r.Damage {
	case "None", "Minor", "Medium", "Substantial":
		s.Damage = r.Damage
		return nil
	}
	return rejected("BadDamage", "damage %q is no grade", r.Damage)
}

func damage(r *demo.Row, s *strike) error {
	switch r.Damage {
	case "A", "B", "C":
		s.Damage = "Class " + r.Damage
		return nil
	}
	return gradedDamage(r, s)
}

// smallCost overflows 16 bits above 32,767 dollars.
func smallCost(r *demo.Row, s *strike) error { return readCost(r, s, 16) }

func cost(r *demo.Row, s *strike) error { return readCost(r, s, 64) }

func readCost(r *demo.Row, s *strike, bits int) error {
	n, err := strconv.ParseInt(cmp.Or(r.Total, "0"), 10, bits)
	if err != nil {
		return fmt.Errorf("read cost: %w", err)
	}
	s.CostUSD = int(n)
	return nil
}

// phases are the codes of flight phases. The form writes "Landing Roll".
var phases = map[string]string{"Parked": "PRK", "Taxi": "TAX", "Take-off run": "TOR", "Climb": "CLB", "Descent": "DSC",
	"Approach": "APP", "Landing roll": "LDR"}

func exactPhase(r *demo.Row, s *strike) error { return readPhase(r.Phase, s) }

// trimmedPhase does not help: the difference is a capital letter, not a space.
func trimmedPhase(r *demo.Row, s *strike) error { return readPhase(strings.TrimSpace(r.Phase), s) }

func phase(r *demo.Row, s *strike) error {
	for name := range phases {
		if strings.EqualFold(name, r.Phase) {
			return readPhase(name, s)
		}
	}
	return readPhase(r.Phase, s)
}

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

func species(r *demo.Row, s *strike) error {
	s.Species = r.Species
	return nil
}
