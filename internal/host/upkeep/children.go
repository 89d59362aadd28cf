package upkeep

// children carries on with steps that have child tasks: after a crash, and where a child ended in a transaction of a
// caller. What else moves is looked at right after its commit.
func (u *Upkeep) children() Loop {
	return Loop{Name: "children", Every: u.engine.Config().UpkeepInterval, ReadsOnly: true, Once: u.engine.AdvanceChildren}
}
