package clock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type machine struct{ clock.Reading }

func newMachine() *machine { return &machine{clock.Reading{Wall: noon}} }

func (m *machine) read() clock.Reading { return m.Reading }

func (m *machine) pass(d time.Duration) { m.Wall, m.Mono = m.Wall.Add(d), m.Mono+d }
func (m *machine) step(d time.Duration) { m.Wall = m.Wall.Add(d) }

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	t.Run("FollowsSlewing", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		for range 1000 {
			m.pass(time.Second)
			m.step(10 * time.Millisecond)
			want(t, "time", c.Now(), m.Wall)
		}
		want(t, "stepped", c.Stepped(noon), time.Duration(0))
	})
	t.Run("NeverGoesBackByLittle", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		m.pass(time.Minute)
		before := c.Now()
		m.step(-900 * time.Millisecond)
		want(t, "time", c.Now(), before)
		m.pass(time.Second)
		want(t, "time a second later", c.Now(), m.Wall)
	})
	t.Run("IgnoresAGlitch", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		m.step(time.Hour)
		for range 59 {
			m.pass(time.Second)
			want(t, "time during the glitch", c.Now(), m.Wall.Add(-time.Hour))
		}
		m.step(-time.Hour)
		m.pass(10 * time.Minute)
		want(t, "time after it", c.Now(), m.Wall)
		want(t, "stepped", c.Stepped(noon), time.Duration(0))
	})
	t.Run("BelievesWhatLasts", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		m.pass(time.Minute)
		m.step(8 * time.Hour) // a night of sleep
		c.Now()
		m.pass(time.Minute)
		want(t, "time", c.Now(), m.Wall)
		want(t, "stepped since before", c.Stepped(noon), 8*time.Hour)
		want(t, "stepped since the step", c.Stepped(m.Wall), time.Duration(0))
	})
	t.Run("GoesBackWhenThatLasts", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		m.step(-time.Hour)
		c.Now()
		m.pass(time.Minute)
		want(t, "time", c.Now(), m.Wall)
		want(t, "stepped", c.Stepped(noon.Add(-2*time.Hour)), time.Duration(0))
	})
	t.Run("AnotherStepBeginsAnew", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		m.step(time.Hour)
		c.Now()
		m.pass(50 * time.Second)
		m.step(time.Hour)
		c.Now()
		m.pass(50 * time.Second)
		want(t, "time", c.Now(), m.Wall.Add(-2*time.Hour))
		m.pass(10 * time.Second)
		want(t, "time", c.Now(), m.Wall)
	})
	t.Run("RemembersABoundedNumberOfSteps", func(t *testing.T) {
		m := newMachine()
		c := clock.NewSteady(m.read)
		for range 1000 {
			m.step(time.Hour)
			c.Now()
			m.pass(time.Minute)
			c.Now()
		}
		want(t, "stepped", c.Stepped(noon), 64*time.Hour)
	})
}

// database is another machine's clock, which answers after a delay.
type database struct {
	*machine
	ahead time.Duration // of our wall clock if none of them jumps
	// others are the testimonies of other processes.
	others []clock.Witness
}

func (d *database) now() time.Time { return noon.Add(d.Mono).Add(d.ahead) }

// ask answers between the two parts of a round trip.
func (d *database) ask(there, back time.Duration) func() (time.Time, []clock.Witness, error) {
	return func() (time.Time, []clock.Witness, error) {
		d.pass(there)
		theirs := d.now()
		d.pass(back)
		return theirs, d.others, nil
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	open := func(t *testing.T) (*database, *clock.Remote) {
		d := &database{machine: newMachine(), ahead: time.Hour}
		c := clock.NewRemote(d.read)
		want(t, "sure before it was measured", c.Sure(), false)
		_, err := c.Measure(d.ask(ms, ms))
		want(t, "error", err, nil)
		want(t, "time", c.Now(), d.now())
		want(t, "sure", c.Sure(), true)
		want(t, "offset", c.Offset(), -time.Hour)
		return d, c
	}
	t.Run("AStepOfOursChangesNothing", func(t *testing.T) {
		d, c := open(t)
		d.step(time.Hour)
		want(t, "time", c.Now(), d.now())
		want(t, "sure", c.Sure(), false)
		want(t, "offset", c.Offset(), time.Duration(0))
		corrected, _ := c.Measure(d.ask(ms, ms))
		want(t, "corrected", corrected, time.Duration(0))
		want(t, "sure once it was measured again", c.Sure(), true)
		d.step(-time.Hour)
		want(t, "time", c.Now(), d.now())
		want(t, "sure", c.Sure(), false)
	})
	t.Run("ASlowAnswerChangesNothing", func(t *testing.T) {
		d, c := open(t)
		d.pass(10 * time.Second)
		corrected, _ := c.Measure(d.ask(5*time.Second, 0))
		want(t, "corrected", corrected, time.Duration(0))
		want(t, "time", c.Now(), d.now())
		want(t, "sure", c.Sure(), true)
	})
	t.Run("FarAwayIsMeasuredAllTheSame", func(t *testing.T) {
		d := &database{machine: newMachine(), ahead: time.Hour}
		c := clock.NewRemote(d.read)
		for range 100 {
			_, _ = c.Measure(d.ask(150*ms, 150*ms))
			d.pass(30 * time.Second)
			want(t, "sure", c.Sure(), true)
			want(t, "time", c.Now(), d.now())
		}
	})
	t.Run("FollowsDrift", func(t *testing.T) {
		d, c := open(t)
		for range 1000 {
			d.pass(10 * time.Second)
			d.ahead += ms
			_, _ = c.Measure(d.ask(ms, ms))
		}
		if off := c.Now().Sub(d.now()).Abs(); off > 10*ms {
			t.Errorf("off by %v", off)
		}
	})
	t.Run("ALittleStepOfTheirsIsFollowed", func(t *testing.T) {
		d, c := open(t)
		d.pass(10 * time.Second)
		d.ahead += 50 * ms
		corrected, _ := c.Measure(d.ask(ms, ms))
		want(t, "corrected", corrected, 50*ms)
		want(t, "time", c.Now(), d.now())
	})
	t.Run("NeverGoesBackByLittle", func(t *testing.T) {
		d, c := open(t)
		d.pass(time.Second)
		before := c.Now()
		d.ahead -= 200 * ms
		_, _ = c.Measure(d.ask(0, 0))
		want(t, "time", c.Now(), before)
		d.pass(time.Second)
		want(t, "time a second later", c.Now(), d.now())
	})
	t.Run("NoAnswer", func(t *testing.T) {
		d, c := open(t)
		d.pass(61 * time.Second)
		gone := errors.New("gone")
		_, err := c.Measure(func() (time.Time, []clock.Witness, error) { return time.Time{}, nil, gone })
		want(t, "error", err, gone)
		want(t, "sure", c.Sure(), false)
		want(t, "time", c.Now(), d.now())
	})
}
