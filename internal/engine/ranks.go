package engine

// The order in which each transaction stores what it has changed. All transactions lock rows in this order, those of
// one table by ID, so that no two of them lock rows crosswise. A transaction of a caller follows the same order.
const (
	// What may change steps and tasks. Tasks are evaluated before their cases are recorded, because a case describes the
	// state that the evaluation gives.

	rankCompensation rank = 10 // compensation steps may become ready
	rankReady        rank = 20 // steps that became ready are handed to waiting polls, or queued
	rankWaiting      rank = 25
	rankTasks        rank = 30 // the states of tasks follow from those of their steps
	rankTurns        rank = 40 // the ends of tasks give turns to others, whose steps are queued
	rankCasesLeft    rank = 50
	rankOccurrences  rank = 51
	rankWatches      rank = 55

	// The rows that most transactions change.

	rankRows rank = 60

	// What hangs on them.

	rankCases       rank = 70
	rankGroups      rank = 71
	rankPermits     rank = 80
	rankFanOuts     rank = 90
	rankApprovals   rank = 95
	rankAttempts    rank = 100
	rankEvents      rank = 101
	rankIntakes     rank = 102
	rankCheckpoints rank = 103
	rankWaits       rank = 104
	rankLogs        rank = 105
	rankActs        rank = 109 // last, because signing them may load templates

	// Rows that many tasks share come at the end, so that they are locked for a moment.

	rankOutages  rank = 110
	rankBreakers rank = 120
)

// What follows a commit. Routes come before the queue, because a poll that it wakes looks only at routes that the
// catalog has; the observer comes last, because it only reports.
const (
	afterRoutes   rank = 10
	afterQueue    rank = 20
	afterTurns    rank = 30
	afterChildren rank = 31
	afterWaits    rank = 32
	afterGates    rank = 33
	afterLimits   rank = 40
	afterLeases   rank = 41
	afterBreakers rank = 50
	afterOutages  rank = 51
	afterObserver rank = 60
)
