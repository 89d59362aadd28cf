package engine

func kernelWork() feature {
	return feature{
		name: "kernel",
		stages: []stage{
			{rankReady, "ready steps", nil, func(u *unit) error { return u.ready.pass(u.queues) }},
			{rankTasks, "states of tasks", nil, (*unit).evaluate},
			{rankRows, "rows", []string{"tasks", "workflow_steps"}, func(u *unit) error { return u.rows.save() }},
			{rankAttempts, "attempts", []string{"attempts"}, func(u *unit) error { return u.records.addAttempts() }},
			{rankEvents, "events", []string{"task_events"}, func(u *unit) error { return u.records.addEvents() }},
			{rankActs, "acts", []string{"acts"}, func(u *unit) error { return u.records.addActs() }},
		},
		after: []followUp{
			{afterRoutes, "routes", func(u *unit) { u.e.restoreRoutes(u.wake.queued) }},
			{afterQueue, "queue", func(u *unit) { u.e.queue.committed(u) }},
			{afterLeases, "freed slots", func(u *unit) { u.e.freed(u.wake.endedLeases, u.wake.count) }},
		},
	}
}
