package demo

import (
	"errors"
	"testing"
)

func clean() Row {
	return Row{
		Record: 7, Airport: "DENVER INTL AIRPORT", State: "Colorado", Aircraft: "B-757-200", Operator: "UNITED AIRLINES",
		Date: "1996-03-31", Phase: "Approach", Time: "Day", Size: "Small", Species: "Horned lark", Damage: "Minor",
		Other: "100", Repair: "900", Total: "1000", Speed: "140",
	}
}

func codeOf(err error) string {
	var d *dirt
	if errors.As(err, &d) {
		return d.Code
	}
	return ""
}

// TestParseRecord covers rules that this extract never breaks.
func TestParseRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		soil func(*Row)
		want string
	}{
		{"OK", func(*Row) {}, ""},
		{"SpeedMissing", func(r *Row) { r.Speed = "" }, ""},
		{"AirportMissing", func(r *Row) { r.Airport = "" }, "field_missing"},
		{"PhaseUnknown", func(r *Row) { r.Phase = "Hovering" }, "word_unknown"},
		{"TimeUnknown", func(r *Row) { r.Time = "" }, "word_unknown"},
		{"DateOfOtherForm", func(r *Row) { r.Date = "3/31/96 0:00" }, "date_unreadable"},
		{"DateImpossible", func(r *Row) { r.Date = "1995-02-29" }, "date_unreadable"},
		{"DateTooEarly", func(r *Row) { r.Date = "1896-03-31" }, "date_too_early"},
		{"CostWithComma", func(r *Row) { r.Total = "1,000" }, "cost_unreadable"},
		{"CostNegative", func(r *Row) { r.Other = "-100" }, "cost_unreadable"},
		{"CostSumWrong", func(r *Row) { r.Total = "1900" }, "cost_sum_wrong"},
		{"SpeedInWords", func(r *Row) { r.Speed = "fast" }, "speed_unreadable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := clean()
			tt.soil(&row)
			s, err := parseRecord(row)
			if got := codeOf(err); got != tt.want {
				t.Errorf("code is %q (%v), want %q", got, err, tt.want)
			}
			if err == nil && (s.RepairUSD != 900 || s.totalUSD() != 1000) {
				t.Errorf("costs are %d and %d", s.RepairUSD, s.totalUSD())
			}
		})
	}
}

func TestCheckFlight(t *testing.T) {
	t.Parallel()
	kt := func(n int) *int { return &n }
	tests := []struct {
		name    string
		strike  Strike
		want    Flight
		refused string
	}{
		{"Helicopter", Strike{Phase: approach, Aircraft: "HUGHES 500", SpeedKt: kt(40)}, Flight{Phase: approach, SpeedKt: 40},
			""},
		{"Hovering", Strike{Phase: climb, Aircraft: "BELL-206", SpeedKt: kt(0)}, Flight{Phase: climb}, ""},
		{"ParkedAtZero", Strike{Phase: parked, SpeedKt: kt(0)}, Flight{Phase: parked}, ""},
		{"ParkedUnknown", Strike{Phase: parked}, Flight{Phase: parked}, ""},
		{"ParkedMoving", Strike{Phase: parked, SpeedKt: kt(20)}, Flight{}, "speed_impossible"},
		{"Estimated", Strike{Phase: descent}, Flight{Phase: descent, SpeedKt: 250, Estimated: true}, ""},
		{"DeerOnTheRunway", Strike{Phase: landing, Species: "White-tailed deer", SpeedKt: kt(90)},
			Flight{Phase: landing, SpeedKt: 90}, ""},
		{"PhaseUnknown", Strike{Phase: "Hovering"}, Flight{}, "word_unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := checkFlight(tt.strike)
			if codeOf(err) != tt.refused || got != tt.want {
				t.Errorf("got %+v, %v; want %+v, %q", got, err, tt.want, tt.refused)
			}
		})
	}
}

func TestNormaliseNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"CHICAGO O'HARE INTL ARPT":               "Chicago O'Hare International",
		"DALLAS/FORT WORTH INTL ARPT":            "Dallas/Fort Worth International",
		"PORTLAND INTL (OR)":                     "Portland International",
		"RONALD REAGAN WASHINGTON NATL":          "Ronald Reagan Washington National",
		"CHARLESTON AFB/INTL ARPT":               "Charleston AFB/International",
		"CINCINNATI/NORTHERN KENTUCKY INTL ARPT": "Cincinnati/Northern Kentucky International",
	} {
		if got := airportName(in); got != want {
			t.Errorf("airport %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"US AIRWAYS*": "US Airways", "ALLEGHENYAIRLINES": "Allegheny Airlines", "UPS AIRLINES": "UPS Airlines",
		"EXPRESSJET (CONTINENTAL EXPRS)": "ExpressJet Airlines", "TRANS WORLD AIRLINES": "Trans World Airlines",
	} {
		if got := operatorName(in); got != want {
			t.Errorf("operator %q is %q, want %q", in, got, want)
		}
	}
	n, err := normaliseNames(Strike{Airport: "WASHINGTON DULLES INTL ARPT", State: "DC", Aircraft: "BE-90  KING",
		Operator: "BUSINESS"})
	if err != nil || n.State != "VA" || len(n.Corrected) != 1 || n.Aircraft != "BE-90 KING" {
		t.Errorf("got %+v, %v", n, err)
	}
	if _, err := normaliseNames(Strike{State: "Atlantis"}); codeOf(err) != "state_unknown" {
		t.Errorf("an unknown state gives %v", err)
	}
}

func TestAssessSeverity(t *testing.T) {
	t.Parallel()
	fast := &Flight{Phase: climb, SpeedKt: 250}
	tests := []struct {
		name   string
		size   string
		flight *Flight
		price  *Price
		want   Severity
	}{
		{"NothingHappened", "Small", fast, &Price{Damage: damageNone, Known: true}, low},
		{"BigBirdNoDamage", "Large", fast, &Price{Damage: damageNone, Known: true}, moderate},
		{"MinorDamage", "Small", fast, &Price{Damage: damageMinor}, moderate},
		{"DelayThatCost", "Small", fast, &Price{Damage: damageNone, CostUSD: 20_000, Known: true}, serious},
		{"MediumDamage", "Small", fast, &Price{Damage: damageMedium, CostUSD: 1}, serious},
		{"DearMinorDamage", "Small", fast, &Price{Damage: damageMinor, CostUSD: 100_000, Known: true}, severe},
		{"SubstantialDamage", "Small", nil, &Price{Damage: damageSubstantial, CostUSD: 1}, severe},
		{"ChecksResolvedByHand", "Large", nil, nil, low},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if a := assessSeverity(tt.size, tt.flight, nil, tt.price); a.Severity != tt.want {
				t.Errorf("severity is %s, want %s", a.Severity, tt.want)
			}
		})
	}
}

func TestPublishReport(t *testing.T) {
	t.Parallel()
	got := publishReport(clean(), Assessment{Severity: low}).Headline
	want := "1996-03-31, DENVER INTL AIRPORT, Colorado: B-757-200 (UNITED AIRLINES), approach at unknown speed, horned " +
		"lark: damage not settled"
	if got != want {
		t.Errorf("headline is %q, want %q", got, want)
	}
}
