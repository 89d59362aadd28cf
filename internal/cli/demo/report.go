package demo

import (
	"fmt"
	"strings"
)

// Report is the published result.
type Report struct {
	Record   int      `json:"record"`
	Severity Severity `json:"severity"`
	Headline string   `json:"headline"`
}

// publishReport falls back to the words of the filed report where a check was resolved without a result.
func publishReport(r Row, a Assessment) Report {
	n := Names{Airport: r.Airport, State: r.State, Aircraft: r.Aircraft, Operator: r.Operator}
	if a.Names != nil {
		n = *a.Names
	}
	speed := "at unknown speed"
	if a.Flight != nil {
		speed = fmt.Sprintf("at %d kt", a.Flight.SpeedKt)
		if a.Flight.Estimated {
			speed = fmt.Sprintf("at about %d kt", a.Flight.SpeedKt)
		}
	}
	return Report{
		Record:   r.Record,
		Severity: a.Severity,
		Headline: fmt.Sprintf("%s, %s, %s: %s (%s), %s %s, %s: %s", r.Date, n.Airport, n.State, n.Aircraft, n.Operator,
			strings.ToLower(r.Phase), speed, animal(r.Species), consequence(a.Price)),
	}
}

func animal(species string) string {
	if kind, size, ok := strings.Cut(species, " - "); ok {
		return strings.ToLower(size + " " + kind) // "Unknown bird - small"
	}
	return strings.ToLower(species)
}

func consequence(p *Price) string {
	switch {
	case p == nil:
		return "damage not settled"
	case p.Damage == damageNone && p.CostUSD == 0:
		return "no damage"
	case !p.Known:
		return p.Damage + " damage, cost not known"
	case p.Damage == damageNone:
		return fmt.Sprintf("no damage, %d dollars", p.CostUSD)
	}
	return fmt.Sprintf("%s damage, %d dollars", p.Damage, p.CostUSD)
}
