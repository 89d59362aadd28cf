package kernel

func OwnFeature() Feature {
	return Feature{
		Name: "kernel",
		Stages: []Stage{
			{rankReady, "ready steps", nil, func(u *Unit) error { return u.Ready.Pass(u.Queues) }},
			{rankTasks, "states of tasks", nil, (*Unit).evaluate},
			{rankRows, "rows", []string{"tasks", "workflow_steps"}, func(u *Unit) error { return u.Rows.save() }},
			{rankAttempts, "attempts", []string{"attempts"}, func(u *Unit) error { return u.Records.addAttempts() }},
			{rankEvents, "events", []string{"task_events"}, func(u *Unit) error { return u.Records.addEvents() }},
			{rankActs, "acts", []string{"acts"}, func(u *Unit) error { return u.Records.addActs() }},
		},
		After: []FollowUp{
			{afterRoutes, "routes", func(u *Unit) { u.E.RestoreRoutes(u.Wake.queued) }},
			{afterQueue, "queue", func(u *Unit) { u.E.Queue.committed(u) }},
			{afterLeases, "freed slots", func(u *Unit) { u.E.freed(u.Wake.endedLeases, u.Wake.count) }},
		},
	}
}
