// Package schedule is the domain of schedules: rules that submit a task at each of their times. It is pure: time is
// an argument. A [Spec] has the task and the times, [Times] computes them, and [Due] decides about past ones.
//
// A cron expression matches a wall clock. On the days when a zone changes its offset from UTC:
//
//   - An expression that matches in every hour follows the clock: a skipped reading has no firing, a repeated one
//     has two.
//   - Any other expression fires once for each matching reading: a skipped one later by the length of the gap, at
//     the instant without the change; a repeated one the first time. RFC 5545 does the same.
package schedule
