package clock_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// measure measures the database's clock once a second.
func (d *database) measure(c *clock.Remote, during time.Duration) {
	for range int(during / time.Second) {
		d.pass(time.Second)
		_, _ = c.Measure(d.ask(0, 0))
	}
}

// opened returns a database, and a clock that has followed it for an hour.
func opened() (*database, *clock.Remote) {
	d := &database{machine: newMachine(), ahead: time.Minute}
	c := clock.NewRemote(d.read)
	_, _ = c.Measure(d.ask(0, 0))
	d.measure(c, time.Hour)
	return d, c
}

func TestRemoteDoubtsSteps(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 2 * time.Second} {
		d, c := opened()
		d.ahead += by
		d.measure(c, 8*time.Second)
		want(t, "time in a step", c.Now(), d.now().Add(-by))
		want(t, "suspected", c.Suspected(), by)
		want(t, "sure of its time", c.Sure(), true)
		d.ahead -= by
		d.measure(c, time.Second)
		want(t, "time after it", c.Now(), d.now())
		want(t, "suspected after it", c.Suspected(), time.Duration(0))

		before := c.Now()
		d.ahead += by
		d.measure(c, 60*time.Second)
		want(t, "time before a minute has passed", c.Now(), d.now().Add(-by))
		d.measure(c, time.Second)
		want(t, "time after a minute", c.Now(), d.now())
		want(t, "stepped", c.Stepped(before), max(by, 0))
		want(t, "suspected when it is believed", c.Suspected(), time.Duration(0))
	}
}

// TestRemoteBegins: the start of a process, by the database's time, its own wall clock, and testimonies.
func TestRemoteBegins(t *testing.T) {
	t.Parallel()
	calm := func(ago time.Duration) []clock.Witness { return []clock.Witness{{At: noon.Add(-ago)}} }
	for name, c := range map[string]struct {
		ahead, want time.Duration // of the wall clock, which shows noon
		others      []clock.Witness
	}{
		"AnEmptyDatabase":              {time.Hour, time.Hour, nil},
		"ClocksAgree":                  {0, 0, calm(24 * time.Hour)},
		"OthersGoByTheDatabase":        {time.Hour, time.Hour, []clock.Witness{{At: noon.Add(time.Hour - time.Second)}}},
		"OthersDoubt":                  {time.Hour, 0, []clock.Witness{{At: noon, Ahead: time.Hour, Since: noon}}},
		"OthersHaveNotMeasuredYet":     {time.Hour, 0, calm(5 * time.Second)},
		"ItsWallClockIsAheadForEver":   {-time.Hour, -time.Hour, calm(2 * time.Hour)},
		"ItsWallClockIsBehindForEver":  {3 * time.Hour, 3 * time.Hour, calm(-2 * time.Hour)},
		"TheDatabaseWentBack":          {-time.Hour, -5 * time.Second, calm(5 * time.Second)},
		"TheLastTestimonyWasOfTheHour": {2 * time.Second, 2 * time.Second, calm(-time.Hour)},
		"TheOldOneCounts": {time.Hour, 0, []clock.Witness{{At: noon.Add(time.Hour), Young: true},
			{At: noon, Ahead: time.Hour, Since: noon}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &database{machine: newMachine(), ahead: c.ahead, others: c.others}
			r := clock.NewRemote(d.read)
			_, _ = r.Measure(d.ask(0, 0))
			want(t, "time", r.Now().Sub(noon), c.want)
			want(t, "suspected", r.Suspected(), c.ahead-c.want)
			d.others = nil
			d.measure(r, 61*time.Second)
			want(t, "time a minute later", r.Now(), d.now())
		})
	}
}

// Two processes follow one clock and read each other's testimonies with every measurement.
func TestRemotesAgree(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	d, old := opened()
	other := &database{machine: &machine{d.Reading}, ahead: d.ahead}
	tell := func() {
		d.others, other.others = nil, append(other.others[:0:0], old.Testimony())
	}
	both := func(late *clock.Remote, during time.Duration) {
		for range int(during / time.Second) {
			tell()
			other.measure(late, time.Second)
			d.measure(old, time.Second)
		}
	}
	d.ahead, other.ahead = d.ahead+hour, other.ahead+hour
	other.step(other.ahead) // the wall clock agrees with the wrong time
	late := clock.NewRemote(other.read)
	tell()
	_, _ = late.Measure(other.ask(0, 0))
	want(t, "time of one that begins before the other measures", late.Now(), other.now())
	d.measure(old, time.Second)
	other.pass(time.Second)
	both(late, 2*time.Second)
	want(t, "time of the one that began in the step", late.Now().Sub(old.Now()).Abs() <= time.Second, true)
	both(late, 54*time.Second)
	want(t, "suspected by the one that began in the step", late.Suspected(), hour)
	both(late, 8*time.Second)
	want(t, "time when it has held", late.Now(), other.now())
	want(t, "time of the other", old.Now(), d.now())
}

// A process whose machine slept alone follows the others immediately; there was no step.
func TestRemoteWasLeftBehind(t *testing.T) {
	t.Parallel()
	d, c := opened()
	before := c.Now()
	d.ahead += time.Hour
	d.step(time.Hour)
	want(t, "sure", c.Sure(), false)
	d.others = []clock.Witness{{At: d.now().Add(-5 * time.Second)}}
	d.measure(c, time.Second)
	want(t, "time", c.Now(), d.now())
	want(t, "sure", c.Sure(), true)
	want(t, "stepped", c.Stepped(before), time.Duration(0))
}
