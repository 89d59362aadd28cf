package kernel

// All transactions, callers' too, lock and store rows in this order, and rows of one table by ID, so that no two
// deadlock.
const (
	// Changes of steps and tasks. Tasks precede cases, because a case describes the task's new state.

	RankCompensation rank = 10
	rankReady        rank = 20 // ready steps are handed to polls or queued
	rankWaiting      rank = 25
	rankTasks        rank = 30 // tasks' states follow from their steps
	rankTurns        rank = 40 // ended tasks give turns to others, whose steps are queued
	RankCasesLeft    rank = 50
	RankOccurrences  rank = 51
	RankWatches      rank = 55

	// Rows that most transactions change.

	rankRows rank = 60

	// Rows that depend on them.

	RankCases       rank = 70
	RankGroups      rank = 71
	rankPermits     rank = 80
	RankFanOuts     rank = 90
	RankApprovals   rank = 95
	rankAttempts    rank = 100
	rankEvents      rank = 101
	RankIntakes     rank = 102
	rankCheckpoints rank = 103
	RankWaits       rank = 104
	rankLogs        rank = 105
	rankActs        rank = 109 // last: signing may load templates

	// Rows shared by many tasks come last, so that they are locked briefly.

	rankOutages  rank = 110
	rankBreakers rank = 120
)

// The order after a commit. Routes precede the queue: a woken poll looks only at the catalog's routes.
const (
	afterRoutes   rank = 10
	afterQueue    rank = 20
	afterTurns    rank = 30
	AfterChildren rank = 31
	AfterWaits    rank = 32
	afterGates    rank = 33
	afterLimits   rank = 40
	afterLeases   rank = 41
	afterBreakers rank = 50
	afterOutages  rank = 51
	afterObserver rank = 60
)
