package demo

import (
	"cmp"
	"encoding/json"
	"strings"
)

// repair is an operator's possible result for a failed step, and the reason.
type repair struct {
	Result string // JSON of the handler's result
	Reason string
}

// proposeRepair invents a plausible repair, or returns false for a step that should only be reset.
func proposeRepair(step string, row Row) (repair, bool) {
	s, err := parseRecord(row)
	if err != nil {
		return repair{}, false
	}
	var result any
	var reason string
	switch step {
	case stepFlight:
		result = Flight{Phase: s.Phase, SpeedKt: speedRules[s.Phase].Usual, Estimated: true}
		reason = "asked the operator: usual speed of the phase"
	case stepNames:
		n := Names{
			Airport: airportName(s.Airport), State: states[s.State], Aircraft: s.Aircraft,
			Operator: operatorName(s.Operator), Corrected: []string{"operator"},
		}
		if s.Operator == unknownOperator {
			n.Operator = "American Airlines"
		}
		result, reason = n, "looked up in the airport's log"
	case stepPrice:
		p := Price{Damage: grades[s.Damage], CostUSD: s.totalUSD(), Known: true}
		if p.Damage == "" || p.Damage == damageNone {
			p.Damage = damageMinor // it was repaired, so it was damaged
		}
		p.CostUSD = cmp.Or(p.CostUSD, 25_000)
		result, reason = p, "asked the operator for the bill"
	default:
		return repair{}, false
	}
	body, err := json.Marshal(result)
	if err != nil {
		return repair{}, false
	}
	return repair{Result: string(body), Reason: reason}, true
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
