package demo

import "fmt"

// Price is the damage of the strike and its cost.
type Price struct {
	Damage  string `json:"damage"` // none, minor, medium, substantial
	CostUSD int    `json:"cost_usd"`
	Known   bool   `json:"cost_known"` // false for minor damage without a bill
}

const (
	damageNone        = "none"
	damageMinor       = "minor"
	damageMedium      = "medium"
	damageSubstantial = "substantial"
)

var grades = map[string]string{
	"None": damageNone, "Minor": damageMinor, "Medium": damageMedium, "Substantial": damageSubstantial,
}

// priceDamage refuses contradicting damage and cost. A cost of 0 means a missing cost: accepted as unknown for
// minor damage, but refused for more, because a sum without it would be wrong.
func priceDamage(s Strike) (Price, error) {
	grade, ok := grades[s.Damage]
	cost := s.totalUSD()
	switch {
	case !ok:
		return Price{}, found(unknownValue, "damage_code_unknown", s.Record, "damage", s.Damage,
			"is not a grade of damage (a mishap class of the armed forces, by its looks)")
	case grade == damageNone && s.RepairUSD > 0:
		return Price{}, found(contradiction, "repair_without_damage", s.Record, "damage", s.Damage,
			fmt.Sprintf("does not go with a repair that cost %d dollars", s.RepairUSD))
	case (grade == damageMedium || grade == damageSubstantial) && cost == 0:
		return Price{}, found(missingValue, "cost_missing", s.Record, "cost_total", "0",
			"is no price for "+grade+" damage")
	}
	return Price{Damage: grade, CostUSD: cost, Known: cost > 0 || grade == damageNone}, nil
}
