package demo

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"testing"
)

func rowsOf(t *testing.T) []Row {
	t.Helper()
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRows(t *testing.T) {
	t.Parallel()

	t.Run("Complete", func(t *testing.T) {
		t.Parallel()
		rows := rowsOf(t)
		if len(rows) != 10_000 {
			t.Fatalf("%d rows, want 10,000", len(rows))
		}
		want := Row{
			Record: 4, Airport: "NEW ORLEANS INTL", State: "Louisiana", Aircraft: "B-737-300",
			Operator: "SOUTHWEST AIRLINES", Date: "1990-01-11", Phase: "Take-off run", Time: "Day", Size: "Small",
			Species: "Rock pigeon", Damage: "Substantial", Other: "0", Repair: "0", Total: "0", Speed: "140",
		}
		if rows[3] != want {
			t.Errorf("record 4 is %+v, want %+v", rows[3], want)
		}
	})

	// The README beside the data promises this.
	t.Run("UnchangedSinceTheSource", func(t *testing.T) {
		t.Parallel()
		unzipped, err := gzip.NewReader(bytes.NewReader(birdstrikes))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, unzipped); err != nil {
			t.Fatal(err)
		}
		const want = "45777edf69984b37599e73dbfb34dbc976055243547407214261a4fcb9466462"
		if got := hex.EncodeToString(sum.Sum(nil)); got != want {
			t.Errorf("SHA-256 is %s, want %s", got, want)
		}
	})
}

// TestUsualSpeeds compares the speed table with the medians of the data.
func TestUsualSpeeds(t *testing.T) {
	t.Parallel()
	speeds := map[string][]int{}
	for _, r := range rowsOf(t) {
		if kt, err := strconv.Atoi(r.Speed); err == nil && kt > 0 {
			speeds[r.Phase] = append(speeds[r.Phase], kt)
		}
	}
	for phase, rule := range speedRules {
		if phase == parked {
			continue // a parked aircraft has no speed
		}
		kts := speeds[phase]
		slices.Sort(kts)
		if len(kts) == 0 {
			t.Errorf("%s: no speeds", phase)
			continue
		}
		if median := (kts[(len(kts)-1)/2] + kts[len(kts)/2]) / 2; median != rule.Usual {
			t.Errorf("%s: median is %d kt, the table says %d", phase, median, rule.Usual)
		}
	}
}
