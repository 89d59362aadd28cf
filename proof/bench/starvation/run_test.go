package starvation_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/taskerhq/tasker/proof/bench/starvation"
)

// While high priorities saturate the workers, a low one waits no longer than the guarantees say, and without a bound
// without end.
func TestLongestWait(t *testing.T) {
	t.Parallel()
	curves, err := starvation.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type want struct{ least, most time.Duration }
	wants := map[string]want{
		"strict, no max_wait": {starvation.Lasts - starvation.Round, starvation.Lasts},
		"strict":              {time.Hour, 61*time.Minute + time.Minute},
		"promote":             {20 * time.Minute, 21*time.Minute + time.Minute},
		"aging":               {20 * time.Minute, 20*time.Minute + time.Minute},
	}
	for _, c := range curves {
		w, ok := wants[c.Name]
		if !ok {
			t.Fatalf("there is a mode %q", c.Name)
		}
		delete(wants, c.Name)
		if c.Longest < w.least || c.Longest > w.most {
			t.Errorf("%s: the longest wait is %v, want %v to %v", c.Name, c.Longest, w.least, w.most)
		}
		if c.Bound == 0 {
			if c.Taken > 0 {
				t.Errorf("%s: %d steps of low priority were taken: the workers were not saturated", c.Name, c.Taken)
			}
			continue
		}
		if c.Longest > c.Allowed() {
			t.Errorf("%s: the longest wait is %v, with a bound of %v no more than %v is allowed", c.Name, c.Longest, c.Bound,
				c.Allowed())
		}
		if c.Taken < 100 {
			t.Errorf("%s: %d steps of low priority were taken in %v", c.Name, c.Taken, starvation.Lasts)
		}
	}
	if len(wants) > 0 {
		t.Errorf("not simulated: %v", wants)
	}
}

// The plot in the documents is the command's.
func TestPlot(t *testing.T) {
	t.Parallel()
	curves, err := starvation.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := starvation.Plot(&got, curves); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(got.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is not well-formed: %v", err)
		}
	}
	want, err := os.ReadFile("../../../docs/img/starvation.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error(
			"docs/img/starvation.svg is not what `go run ./bench/experiments -mode starvation -svg ../docs/img/starvation.svg` in proof/ draws: run that")
	}
}
