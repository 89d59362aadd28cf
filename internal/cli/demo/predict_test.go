package demo

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

// outcome is the pure functions' result for a row: the dirt by step, or the report.
type outcome struct {
	refused map[string]*dirt // by step
	report  Report
}

// predict takes a row through the workflow without an engine, through all three checks as the diamond does.
func predict(t *testing.T, row Row) outcome {
	t.Helper()
	o := outcome{refused: map[string]*dirt{}}
	refused := func(step string, err error) bool {
		if err == nil {
			return false
		}
		var d *dirt
		if !errors.As(err, &d) {
			t.Fatalf("record %d: %s fails with %v, which is not dirt", row.Record, step, err)
		}
		o.refused[step] = d
		return true
	}
	s, err := parseRecord(row)
	if refused(stepParse, err) {
		return o
	}
	f, err := checkFlight(s)
	refused(stepFlight, err)
	n, err := normaliseNames(s)
	refused(stepNames, err)
	p, err := priceDamage(s)
	refused(stepPrice, err)
	if len(o.refused) == 0 {
		o.report = publishReport(row, assessSeverity(row.Size, &f, &n, &p))
	}
	return o
}

type cause struct {
	step, code string
	kind       dirtKind
}

// TestDirtOfTheWholeFile pins the numbers in docs/start/demo.md.
func TestDirtOfTheWholeFile(t *testing.T) {
	t.Parallel()
	got, severities, refused := map[cause]int{}, map[Severity]int{}, map[int]int{}
	for _, row := range rowsOf(t) {
		o := predict(t, row)
		refused[len(o.refused)]++
		if len(o.refused) == 0 {
			severities[o.report.Severity]++
		}
		for step, d := range o.refused {
			got[cause{step, d.Code, d.Kind}]++
		}
	}

	want := map[cause]int{
		{stepPrice, "cost_missing", missingValue}:              418,
		{stepNames, "operator_unknown", missingValue}:          72,
		{stepPrice, "repair_without_damage", contradiction}:    27,
		{stepFlight, "speed_zero", missingValue}:               15,
		{stepPrice, "damage_code_unknown", unknownValue}:       15,
		{stepFlight, "speed_impossible", outOfRange}:           12,
		{stepFlight, "ground_animal_in_flight", contradiction}: 5,
		{stepNames, "aircraft_unknown", missingValue}:          2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("causes are %v, want %v", got, want)
	}
	if want := map[int]int{0: 9441, 1: 552, 2: 7}; !maps.Equal(refused, want) {
		t.Errorf("rows by number of refusing steps are %v, want %v", refused, want)
	}
	if want := map[Severity]int{low: 8144, moderate: 1182, serious: 39, severe: 76}; !maps.Equal(severities, want) {
		t.Errorf("severities are %v, want %v", severities, want)
	}
}

// TestDirtThatPasses pins how often the rules correct or accept something.
func TestDirtThatPasses(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	count := func(what string, dirty bool) {
		if dirty {
			got[what]++
		}
	}
	for _, row := range rowsOf(t) {
		s, err := parseRecord(row)
		if err != nil {
			t.Fatalf("record %d: %v", row.Record, err)
		}
		f, _ := checkFlight(s)
		n, _ := normaliseNames(s)
		p, _ := priceDamage(s)
		count("speed not reported", s.SpeedKt == nil)
		count("speed estimated", f.Estimated)
		count("minor damage without a price", p.Damage == damageMinor && !p.Known)
		count("footnote mark", strings.HasSuffix(row.Operator, "*") && !strings.HasSuffix(n.Operator, "*"))
		count("wrong state", len(n.Corrected) > 0)
		count("doubled spaces", n.Aircraft != "" && n.Aircraft != row.Aircraft)
	}
	want := map[string]int{
		"speed not reported":           2836,
		"speed estimated":              2825, // the rest is parked, or refused for its animal
		"minor damage without a price": 489,
		"footnote mark":                1084,
		"wrong state":                  472,
		"doubled spaces":               14,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
}

func TestRealRows(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t)
	tests := []struct {
		name     string
		record   int
		refused  map[string]string // step to message
		headline string
	}{
		{
			name: "Clean", record: 1,
			headline: "1990-01-08, Barksdale Air Force Base, LA: T-38A (Military), climb at 300 kt, turkey vulture: no damage",
		}, {
			name: "SpeedMissingIsEstimated", record: 401,
			headline: "1990-11-04, Logan International, MA: B-737-200 (US Airways), landing roll at about 115 kt, small " +
				"unknown bird: no damage",
		}, {
			name: "StateCorrected", record: 5601,
			headline: "1998-05-23, Washington Dulles International, VA: " +
				"LEARJET-24 (Business), climb at 150 kt, medium unknown " +
				"bird: no damage",
		}, {
			name: "CostMissing", record: 4,
			refused: map[string]string{stepPrice: `cost_total "0" is no price for substantial damage`},
		}, {
			name: "RepairWithoutDamage", record: 16,
			refused: map[string]string{stepPrice: `damage "None" does not go with a repair that cost 4175 dollars`},
		}, {
			name: "MishapClassForDamage", record: 300,
			refused: map[string]string{
				stepPrice: `damage "C" is not a grade of damage (a mishap class of the armed forces, by its looks)`},
		}, {
			name: "OperatorUnknown", record: 29,
			refused: map[string]string{stepNames: `operator "UNKNOWN" names nobody who could answer for the report`},
		}, {
			name: "AircraftWithoutModel", record: 1821,
			refused: map[string]string{stepNames: `aircraft "EMB UNKN" names a maker but no model`},
		}, {
			name: "DeerInClimb", record: 41,
			refused: map[string]string{stepFlight: `wildlife_species "White-tailed deer" does not fly, but the phase is climb`},
		}, {
			name: "DirtyInTwoBranches", record: 277,
			refused: map[string]string{
				stepFlight: `speed "0" stands for a speed that is not known: the phase is landing roll`,
				stepPrice:  `damage "None" does not go with a repair that cost 5218 dollars`,
			},
		}, {
			name: "TooSlowToFly", record: 379,
			refused: map[string]string{stepFlight: `speed "30" is outside 60 to 350 kt, the range of approach`},
		}, {
			name: "TooFastToTaxi", record: 9007,
			refused: map[string]string{stepFlight: `speed "130" is outside 1 to 60 kt, the range of taxi`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := predict(t, rows[tt.record-1])
			got := map[string]string{}
			for step, d := range o.refused {
				got[step] = d.Message
			}
			if !maps.Equal(got, tt.refused) {
				t.Errorf("refused by %v, want %v", got, tt.refused)
			}
			if o.report.Headline != tt.headline {
				t.Errorf("headline is %q, want %q", o.report.Headline, tt.headline)
			}
		})
	}
}
