package cron_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/cron"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// field is a field of an expression and the values that it matches, computed without the parser.
type field struct {
	text       string
	values     map[int]bool
	restricted bool
}

func drawField(t *rapid.T, name string, low, high int) field {
	f := field{values: map[int]bool{}, restricted: true}
	add := func(from, to, step int) {
		for v := from; v <= to; v += step {
			f.values[v] = true
		}
	}
	switch rapid.IntRange(0, 4).Draw(t, name) {
	case 0, 1:
		f.text, f.restricted = "*", false
		add(low, high, 1)
	case 2:
		from := rapid.IntRange(low, high-3).Draw(t, name+" from")
		step := rapid.IntRange(2, high-from).Draw(t, name+" step") // the parser refuses a step beyond the range
		f.text = fmt.Sprintf("%d-%d/%d", from, high, step)
		add(from, high, step)
	case 3:
		var texts []string
		for range rapid.IntRange(1, 3).Draw(t, name+" values") {
			v := rapid.IntRange(low, high).Draw(t, name+" value")
			texts = append(texts, strconv.Itoa(v))
			add(v, v, 1)
		}
		f.text = strings.Join(texts, ",")
	default:
		from := rapid.IntRange(low, high).Draw(t, name+" from")
		to := rapid.IntRange(from, high).Draw(t, name+" to")
		f.text = fmt.Sprintf("%d-%d", from, to)
		add(from, to, 1)
	}
	return f
}

type expression struct{ second, minute, hour, day, month, weekday field }

func (e *expression) String() string {
	return strings.Join([]string{e.second.text, e.minute.text, e.hour.text, e.day.text, e.month.text, e.weekday.text}, " ")
}

func (e *expression) matches(r time.Time) bool {
	day, weekday := e.day.values[r.Day()], e.weekday.values[int(r.Weekday())]
	days := day && weekday
	if e.day.restricted && e.weekday.restricted {
		days = day || weekday
	}
	return days && e.second.values[r.Second()] && e.minute.values[r.Minute()] && e.hour.values[r.Hour()] &&
		e.month.values[int(r.Month())]
}

func reading(at time.Time, zone *time.Location) time.Time {
	y, mo, d := at.In(zone).Date()
	h, mi, s := at.In(zone).Clock()
	return time.Date(y, mo, d, h, mi, s, 0, time.UTC)
}

// reference walks the clock in steps and returns, in order, the times in (after, until].
func (e *expression) reference(after, until time.Time, zone *time.Location, step time.Duration) []int64 {
	const around = 25 * time.Hour // more than any change
	shown := map[time.Time][]time.Time{}
	begin := after.Add(-2 * around).Truncate(step)
	var walked []time.Time
	for at := begin; at.Before(until.Add(2 * around)); at = at.Add(step) {
		shown[reading(at, zone)] = append(shown[reading(at, zone)], at)
		walked = append(walked, at)
	}
	everyHour := len(e.hour.values) == 24
	found := map[int64]bool{}
	last := reading(until, zone).Add(around)
	for r := reading(after, zone).Add(-around).Truncate(step); r.Before(last); r = r.Add(step) {
		if !e.matches(r) {
			continue
		}
		at := shown[r]
		switch {
		case everyHour:
		case len(at) > 0:
			at = at[:1]
		default: // in a gap: as if the clock had not changed
			first := walked[slices.IndexFunc(walked, func(at time.Time) bool { return reading(at, zone).After(r) })]
			before := first.Add(-step)
			at = []time.Time{before.Add(r.Sub(reading(before, zone)))}
		}
		for _, instant := range at {
			if instant.After(after) && !instant.After(until) {
				found[instant.Unix()] = true
			}
		}
	}
	var list []int64
	for at := range found {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}

// changes are days on which zones change: an hour in either direction, half an hour, at midnight, and a whole day.
var changes = []struct{ zone, day string }{
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"}, {"America/New_York", "2026-03-08"},
	{"America/New_York", "2026-11-01"}, {"Australia/Lord_Howe", "2026-10-04"}, {"Australia/Lord_Howe", "2026-04-05"},
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-17"}, {"Africa/Cairo", "2026-04-24"},
	{"Pacific/Apia", "2011-12-30"}, {"Africa/Casablanca", "2026-02-15"}, {"Asia/Kathmandu", "2026-05-01"},
	{"UTC", "2026-02-28"}, {"Antarctica/Troll", "2026-03-29"}, {"Antarctica/Troll", "2026-10-25"},
}

func TestTimesAgainstReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(changes).Draw(t, "change")
		e := &expression{second: field{text: "0", values: map[int]bool{0: true}, restricted: true},
			minute: drawField(t, "minute", 0, 59), hour: drawField(t, "hour", 0, 23), day: drawField(t, "day", 1, 31),
			month: drawField(t, "month", 1, 12), weekday: drawField(t, "weekday", 0, 6)}
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.ParseInLocation(time.DateOnly, change.day, zone)
		if err != nil {
			t.Fatal(err)
		}
		after := day.Add(time.Duration(rapid.IntRange(-24*60, 24*60).Draw(t, "after")) * time.Minute)
		compare(t, e, change.zone, zone, after, after.Add(30*time.Hour), time.Minute)
	})
}

func TestSecondsAgainstReference(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		all := func(low, high int) field {
			f := field{text: "*", values: map[int]bool{}}
			for v := low; v <= high; v++ {
				f.values[v] = true
			}
			return f
		}
		e := &expression{second: drawField(t, "second", 0, 59), minute: drawField(t, "minute", 0, 59),
			hour: drawField(t, "hour", 0, 23), day: all(1, 31), month: all(1, 12), weekday: all(0, 6)}
		after := time.Date(2026, 10, 25, 0, 0, rapid.IntRange(0, 3*3600).Draw(t, "after"), 0, time.UTC)
		want := e.secondsReference(after, after.Add(time.Hour), zone)
		got := timesOf(t, e.String(), "Europe/Berlin", after, after.Add(time.Hour))
		if !slices.Equal(got, want) {
			t.Fatalf("%s after %s: %s", e, after, difference(got, want))
		}
	})
}

// secondsReference is reference for a change backwards of one hour at 01:00 UTC, second by second.
func (e *expression) secondsReference(after, until time.Time, zone *time.Location) []int64 {
	repeated := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)
	var list []int64
	for at := after.Add(time.Second); !at.After(until); at = at.Add(time.Second) {
		again := !at.Before(repeated) && at.Before(repeated.Add(time.Hour))
		if e.matches(reading(at, zone)) && (!again || len(e.hour.values) == 24) {
			list = append(list, at.Unix())
		}
	}
	return list
}

func compare(t *rapid.T, e *expression, name string, zone *time.Location, after, until time.Time, step time.Duration) {
	got, want := timesOf(t, e.String(), name, after, until), e.reference(after, until, zone, step)
	if !slices.Equal(got, want) {
		t.Fatalf("%s in %s after %s: %s", e, name, after, difference(got, want))
	}
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func timesOf(t fataler, expression, zone string, after, until time.Time) []int64 {
	spec := &schedule.Spec{Name: "s", Cron: expression, Zone: zone}
	times, problems := schedule.Compile(spec, cron.Parse)
	if len(problems) > 0 {
		if strings.Contains(problems[0].Message, "no such day") {
			return nil
		}
		t.Fatalf("%s: %v", expression, problems)
	}
	var list []int64
	for _, at := range times.Between(task.At(after), task.At(until), 1_000_000) {
		list = append(list, at.Time().Unix())
	}
	return list
}

func difference(got, want []int64) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			show := func(list []int64) string {
				if i >= len(list) {
					return "nothing"
				}
				return time.Unix(list[i], 0).UTC().Format(time.RFC3339)
			}
			return fmt.Sprintf("time %d of %d and %d is %s, want %s", i, len(got), len(want), show(got), show(want))
		}
	}
	return "equal"
}

func TestChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cron, zone, after string
		want              []string
	}{
		"GapOfFixedTime": {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"GapMeetsATime": {"30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"GapOfEachHour": {"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}},
		"OverlapOfFixedTime": {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"OverlapOfEachHour": {"30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"}},
		"MidnightThatDoesNotOccur": {"@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		"HalfAnHour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			[]string{"2026-10-04T02:45:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"LastDayOfTheMonth": {"0 9 L * *", "UTC", "2028-02-01T00:00:00Z",
			[]string{"2028-02-29T09:00:00Z", "2028-03-31T09:00:00Z"}},
		"ThirdFriday": {"0 9 * * FRI#3", "UTC", "2026-01-01T00:00:00Z",
			[]string{"2026-01-16T09:00:00Z", "2026-02-20T09:00:00Z"}},
		"LeapDay": {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"}},
		"EitherDay": {"0 0 13 * 5", "UTC", "2026-02-01T00:00:00Z",
			[]string{"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"}},
		"Sunday": {"0 0 * * 7", "UTC", "2026-02-01T00:00:00Z", []string{"2026-02-08T00:00:00Z", "2026-02-15T00:00:00Z"}},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range timesOf(t, c.cron, c.zone, after, after.AddDate(15, 0, 0))[:2] {
			got = append(got, time.Unix(at, 0).In(zone).Format(time.RFC3339))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q in %s gives %v, want %v", name, c.cron, c.zone, got, c.want)
		}
	}
}

// Covers decades: also years beyond the clock changes that package time lists, and the last day of leap years.
func TestRareTimes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Africa/Casablanca",
		"Asia/Kolkata", "Pacific/Apia", "America/Santiago"} {
		for _, c := range []struct {
			cron, day   string
			years, left int // between two times; left out within the 80 years
		}{{"30 22 29 2 *", "02-29 22:30", 4, 1}, {"30 22 31 12 *", "12-31 22:30", 1, 0}} {
			times, problems := schedule.Compile(&schedule.Spec{Name: "s", Cron: c.cron, Zone: name}, cron.Parse)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			got := times.Between(task.At(from), task.At(from.AddDate(80, 0, 0)), 1000)
			if len(got) != 80/c.years-c.left {
				t.Errorf("%s in %s has %d times in 80 years", c.cron, name, len(got))
			}
			for _, at := range got {
				if shown := at.Time().In(times.Zone()).Format("01-02 15:04"); shown != c.day {
					t.Errorf("%s in %s is at %s", c.cron, name, at.Time().In(times.Zone()))
				}
			}
		}
	}
}

func TestRefusedExpressions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "a b c d e",
		"@sometimes", "TZ=Europe/Berlin 0 0 * * *", "CRON_TZ=UTC * * * * *", "H * * * *", "*/0 * * * *", "1-", "@every x",
		strings.Repeat("0,", 600) + "0 * * * *", "0 0 30 2 *", "\x00", "١ * * * *"} {
		spec := &schedule.Spec{Name: "s", Cron: text}
		if _, problems := schedule.Compile(spec, cron.Parse); len(problems) == 0 {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 0 29 2 *", "@every 1s", "@daily", "0 9 L * *", "0 0 * * 5#3",
		"*/7 22-2 * 2 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec := &schedule.Spec{Name: "s", Cron: text, Zone: "Europe/Berlin"}
		times, problems := schedule.Compile(spec, cron.Parse)
		if len(problems) > 0 {
			return
		}
		last := task.At(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC))
		for range 5 {
			next := times.Next(last)
			if next == 0 {
				return
			}
			if next <= last {
				t.Fatalf("%q goes from %d to %d", text, last, next)
			}
			last = next
		}
	})
}
