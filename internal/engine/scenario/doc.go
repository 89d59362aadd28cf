// Package scenario tests the engine as a whole, with scripts and with a model test that compares the stores under
// random verbs. It has no code outside its tests.
//
// A script is a file in testdata. Each line is a command; its output follows after "> ". Without such lines the
// command only has to succeed. Indented lines are the body of the command above them; # begins a comment. Time stands
// still except for "advance", and is printed relative to the start. Every script runs on every store, and on two nodes
// of one PostgreSQL that take turns.
//
//	config       KEY=VALUE ...          settings of the engine; only as the first command
//	template     (YAML as body)         registers a template
//	submit       TASK template=NAME | type=HANDLER [count=N] [context=JSON] [key=K] [priority=P] [run_at=+D]
//	             [deadline=+D] [caps=A,B] [timeout=D] [max_retries=N] [tags=A,B] [order=K]
//	             [unique=POINTER,... [period=D] [while=PHASE,...] [on=CONFLICT]]
//	worker       W [handlers=A,B] [caps=A,B] [namespaces=A,B] [transport=amqp]
//	claim        W [n=N] [start]        start begins the attempts too
//	dispatch     W [n=N]                leases steps for the queue of W, which has transport=amqp
//	letter       W TASK.STEP ...        reports the messages of these leases as expired
//	start        W TASK.STEP            all lease commands take token=N
//	progress     W TASK.STEP percent=N [note=TEXT]
//	complete     W TASK.STEP [result=JSON | large=BYTES]
//	send         W TASK.STEP bytes=N    stores a large result, as complete with large= does before it settles
//	fail         W TASK.STEP [type=T] [message=TEXT] [fatal] [retry_after=D]
//	release      W TASK.STEP
//	snooze       W TASK.STEP for=D
//	heartbeat    W [only=TASK.STEP,...] [draining]
//	drain        W [final]
//	cordon, uncordon W [by=WHO] [reason=TEXT]
//	read         TASK.STEP              the large result of a step
//	blobs        [down | up | lost]     the objects in the blob store, which fails, works again, or is emptied
//	pause        [route=H | handler=H | task=T] [caps=A,B] [ns=N] [by=WHO] [reason=TEXT] [until=+D]
//	unpause      likewise               ends a pause; without route, handler or task, that of the namespace
//	pauses                              those in force
//	limit        [route=H | handler=H] [caps=A,B] [ns=N] [permits=N] [rate=N per=D [burst=N]] [by=WHO] [reason=TEXT]
//	unlimit      likewise               deletes the limit of an operator
//	limits                              those in force, with the permits in use
//	crash        W | server             W falls silent; the server restarts on the same store
//	advance      D
//	children     TASK.STEP [n=N]        the child tasks of a step; later commands name them STEP0, STEP1 ...
//	upkeep                              the background loops, until nothing is due
//	retain                              one batch of retention alone
//	cancel       TASK [by=WHO] [reason=TEXT]
//	approve, reject TASK.STEP [by=WHO] [reason=TEXT]
//	signal       NAME KEY [id=ID] [namespace=N] [payload=JSON]
//	reset        TASK.STEP [by=WHO] [reason=TEXT]
//	resolve      TASK.STEP [by=WHO] [reason=TEXT]
//	complete-manually TASK.STEP result=JSON [by=WHO] [reason=TEXT]
//	smuggle      TEMPLATE STEP[:PARENT,...] ...  stores a template past the checks
//	open         TASK [by=WHO] [reason=TEXT] [metadata=JSON]   a case
//	update       TASK [status=S] [notes=TEXT] [by=WHO] [metadata=JSON] [reopen]   its last case
//	cases        [TASK] [status=S] [reason=R]
//	snapshot, note TASK                 the snapshot of its last case; the metadata
//	story        TASK                   the occurrences and notes of its last case
//	queue, stats, audit [TASK]          of cases
//	staleness    [health=H]
//	detect       [batch=N] [dry]        one cycle of the staleness detector
//	reconfigure  KEY=VALUE ...          the server restarts with these settings
//	rekey        [n=N]                  gives one batch of waiting steps new keys
//	ready                               the ready steps, in order
//	task, steps, history TASK           the stored rows
//	workers, list [state=S]
//	expect       task TASK KEY=VALUE ...
//	expect       step TASK.STEP KEY=VALUE ...
//
// Scripts in testdata/nodes run two nodes on one PostgreSQL. Their commands begin with the node, except config and
// advance, which are about both:
//
//	A COMMAND, B COMMAND                a command from above
//	A hold PAUSE COMMAND                runs it until it reaches PAUSE: "commits", or the name of a
//	                                    method of engine.Tx
//	A go                                runs and prints the rest
//	look                                both nodes read the other one's changes
//
// A command prints "waits for a lock" when the other node must continue first; "go" prints its end.
//
// Scripts in testdata/databases run on SQLite and PostgreSQL only. Their additional commands:
//
//	copy                                copies into the other kind of database; the server starts there
//	backup, restore                     a copy is taken; the server starts on it
//	keys         [ID ...]               the server starts with these encryption keys, the first of which encrypts
//	schedule     NAME cron=EXPR type=HANDLER | template=NAME [overlap=O] [missed=M [missed_limit=N]] [context=JSON]
//	             [order=K] [max_retries=N] [time_field=F]
//	fire                                fires due schedules
//	backfill     NAME [from=+D] [until=+D] [overlap=O]
//	firings      NAME                   its firings; later commands name the tasks NAME0, NAME1 ...
//
// "go test -update" writes the real output into the scripts. Read the diff.
package scenario
