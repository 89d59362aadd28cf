package demo

// Severity grades a strike.
type Severity string

// The grades, from nothing to the worst.
const (
	low      Severity = "low"
	moderate Severity = "moderate"
	serious  Severity = "serious"
	severe   Severity = "severe"
)

// Assessment is a whole report: what was found by the three checks, and the grade that follows. A check that an
// operator has resolved without a result is absent; the grade then rests on the others. It is the result of
// assess_severity.
type Assessment struct {
	Severity Severity `json:"severity"`
	EnergyKJ float64  `json:"energy_kj"` // of the animal, seen from the aircraft
	Flight   *Flight  `json:"flight,omitempty"`
	Names    *Names   `json:"names,omitempty"`
	Price    *Price   `json:"price,omitempty"`
}

// massKG is the weight at which the energy is calculated, by size of the animal: a sparrow, a gull, a goose. An unknown
// size weighs nothing.
var massKG = map[string]float64{"Small": 0.1, "Medium": 0.7, "Large": 4}

// knot is one knot in metres per second.
const knot = 1852.0 / 3600.0

// assessSeverity joins the three checks. The damage decides; where there is none or it is unknown, the energy shows how
// bad the strike could have been. It refuses nothing: what is missing lowers the grade at most.
func assessSeverity(size string, f *Flight, n *Names, p *Price) Assessment {
	a := Assessment{Severity: low, Flight: f, Names: n, Price: p}
	if f != nil {
		v := float64(f.SpeedKt) * knot
		// Half the mass times the square of the speed, in kJ with one decimal.
		a.EnergyKJ = float64(int(massKG[size]*v*v/2/1000*10+0.5)) / 10
	}
	// A medium bird at 250 kt is about 6 kJ, a goose on approach about 10.
	if a.EnergyKJ >= 5 {
		a.Severity = moderate
	}
	if p == nil {
		return a
	}
	switch {
	case p.Damage == damageSubstantial || p.CostUSD >= 100_000:
		a.Severity = severe
	case p.Damage == damageMedium || p.CostUSD >= 10_000:
		a.Severity = serious
	case p.Damage == damageMinor || p.CostUSD > 0:
		a.Severity = moderate
	}
	return a
}
