package demo

// Severity grades a strike.
type Severity string

const (
	low      Severity = "low"
	moderate Severity = "moderate"
	serious  Severity = "serious"
	severe   Severity = "severe"
)

// Assessment is the result of assess_severity: the findings of the three checks and the grade. A check resolved
// without a result is absent, and the others decide.
type Assessment struct {
	Severity Severity `json:"severity"`
	EnergyKJ float64  `json:"energy_kj"` // of the animal relative to the aircraft
	Flight   *Flight  `json:"flight,omitempty"`
	Names    *Names   `json:"names,omitempty"`
	Price    *Price   `json:"price,omitempty"`
}

// massKG by size: a sparrow, a gull, a goose. An unknown size weighs nothing.
var massKG = map[string]float64{"Small": 0.1, "Medium": 0.7, "Large": 4}

// in metres per second
const knot = 1852.0 / 3600.0

// assessSeverity grades by the damage; without a known one, by the energy. It refuses nothing: missing values at
// most lower the grade.
func assessSeverity(size string, f *Flight, n *Names, p *Price) Assessment {
	a := Assessment{Severity: low, Flight: f, Names: n, Price: p}
	if f != nil {
		v := float64(f.SpeedKt) * knot
		// Half the mass times the square of the speed, in kJ with one decimal.
		a.EnergyKJ = float64(int(massKG[size]*v*v/2/1000*10+0.5)) / 10
	}
	// A medium bird at 250 kt has about 6 kJ, a goose on approach about 10.
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
