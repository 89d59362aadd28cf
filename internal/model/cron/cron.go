// Package cron compiles cron expressions. No other package imports the parser.
package cron

import (
	"errors"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/taskerhq/tasker/internal/model/schedule"
)

// searched bounds the search for a time: the 29th of February may be eight years away.
const searched = 9

// parser reads five fields, or six with seconds in front, names such as @daily, and L, W and # of days. If both the day
// of the month and that of the week are restricted, a day that is either matches, as POSIX says.
var parser = cron.MustNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor | cron.Extended | cron.DowOrDom).WithMaxSearchYears(searched)

// Parse implements schedule.Parser.
func Parse(expression string) (schedule.Pattern, error) {
	if strings.Contains(expression, "=") {
		return nil, errors.New("must not name a time zone: use time_zone")
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return nil, fault(err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New(`an interval is written as "@every 90s"`)
	}
	spec.Location = time.UTC
	return pattern{spec}, nil
}

func fault(err error) error {
	return errors.New("is not a cron expression: " + err.Error() +
		`; write minute, hour, day of month, month and day of week, with seconds in front if you like, or a name such as @daily`)
}

type pattern struct{ spec *cron.SpecSchedule }

// Next implements schedule.Pattern.
func (p pattern) Next(reading time.Time) time.Time { return p.spec.Next(reading) }

const allHours = 1<<24 - 1

// EveryHour implements schedule.Pattern.
func (p pattern) EveryHour() bool { return p.spec.Hour&allHours == allHours }
