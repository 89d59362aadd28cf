// Package schedule is the domain of schedules: rules that submit a task at each of their times.
//
// It is pure. A [Spec] says what is submitted and when, [Times] are its times, and [Due] decides what becomes of those
// that have come. Time is an argument of every function that needs it.
//
// A cron expression is about a wall clock. On the days when a zone changes its offset from UTC:
//
//   - An expression that matches in every hour of the day follows the clock as it is: a reading that does not occur has
//     no firing, and one that occurs twice has two.
//   - Any other expression fires once for each reading that it matches. One that does not occur fires later by the
//     length of the gap, at the instant that it would have been without the change. One that occurs twice fires the
//     first time. RFC 5545 does the same.
package schedule
