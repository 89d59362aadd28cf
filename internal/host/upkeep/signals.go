package upkeep

// signals hands signals to steps that began to wait in transactions of callers, and what a process that ended left
// undone.
func (u *Upkeep) signals() Loop {
	return Loop{Name: "signals", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.HandOverSignals}
}
