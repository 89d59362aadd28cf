package upkeep

// ordering gives the turns of ordering keys to tasks that were submitted in transactions of callers, or by a process
// that ended before it gave them.
func (u *Upkeep) ordering() Loop {
	return Loop{Name: "ordering", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.GiveTurns}
}
