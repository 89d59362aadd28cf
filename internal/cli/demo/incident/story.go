package incident

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters"
)

// Plan and stop rule of the redrives.
const (
	canary  = 100
	factor  = 10
	largest = 10_000
	share   = 0.05
)

const operatorName = "demo"

// fail is the night: release 2.0 consumes the reports during maintenance of its registry, which fails those that no
// rule refuses. It waits until every report is a letter.
func (n *night) fail(ctx context.Context) error {
	n.tell.step("The night")
	if _, err := n.inbox.SaveSource(ctx, deadletters.SourceRequest{
		Source: deadletters.Source{Name: sourceName, Driver: driverName, URL: "memory:", Queue: deadQueue}, Act: signed("")},
	); err != nil {
		return fmt.Errorf("add the source: %w", err)
	}
	n.app.registry.maintain(true)
	if err := n.app.deploy(ctx, release20); err != nil {
		return err
	}
	// The summary counts the seconds from here.
	n.started = time.Now()
	if err := publish(ctx, n.app.broker, n.rows); err != nil {
		return err
	}
	if err := n.await(ctx, "capture letters", func(ctx context.Context) (int, bool, error) {
		open, err := n.open(ctx)
		return open, open >= len(n.rows), err
	}); err != nil {
		return err
	}
	n.tell.say("The program %s consumes bird-strike reports from the queue %s. Its release %s was deployed in\n"+
		"the evening, and gives up every report: %s messages went to %s.\nTasker captured them within %.1f s.",
		appName, workQueue, release20.name, number(len(n.rows)), deadQueue, time.Since(n.started).Seconds())
	return nil
}

func (n *night) open(ctx context.Context) (int, error) {
	page, err := n.inbox.Groups(ctx, deadletters.GroupFilter{Limit: 1000})
	if err != nil {
		return 0, err
	}
	open := 0
	for i := range page.Groups {
		open += int(page.Groups[i].OpenLetters)
	}
	return open, nil
}

func (n *night) look(ctx context.Context) error {
	page, err := n.groups(ctx)
	if err != nil {
		return err
	}
	n.tell.step("The inbox")
	n.tell.command("inbox --order open")
	n.tell.groups(page)
	n.tell.say("%s messages, %d causes.", number(len(n.rows)), len(page))
	return nil
}

func (n *night) groups(ctx context.Context) ([]deadletters.Group, error) {
	page, err := n.inbox.Groups(ctx, deadletters.GroupFilter{OpenOnly: true, Order: "open", Limit: 1000})
	if err != nil {
		return nil, err
	}
	return page.Groups, nil
}

func (n *night) ask(ctx context.Context) error {
	groups, err := n.groups(ctx)
	if err != nil || len(groups) == 0 {
		return err
	}
	story, err := n.inbox.Group(ctx, groups[0].GroupID)
	if err != nil {
		return err
	}
	n.tell.step("Why")
	n.tell.command("group why " + groups[0].GroupID)
	n.tell.parts(story.Why)
	n.tell.say("What varies is replaced by a mark, so that all letters of this cause are in one group.")
	return nil
}

// sendCanary is the morning: release 2.1 should fix all causes, but the canary shows that it does not.
func (n *night) sendCanary(ctx context.Context) error {
	n.tell.step("A fix, and a canary")
	n.app.registry.maintain(false)
	if err := n.app.deploy(ctx, release21); err != nil {
		return err
	}
	n.tell.say("The maintenance of the registry has ended, and release %s corrects the other causes. All letters go\n"+
		"back in waves: a canary of %d, then %d times as many after each wave of which at most %g %% return.",
		release21.name, canary, factor, share*100)
	req := n.request("release " + release21.name)
	req.Selection.Source = sourceName
	n.tell.command("redrive start --source " + sourceName + n.flags(req))
	redrive, err := n.start(ctx, req)
	if err != nil {
		return err
	}
	// Otherwise the story would be false.
	if redrive.State != deadletters.RedriveHalted {
		return fmt.Errorf("the redrive %s is %s: its canary did not find the wrong fix", redrive.RedriveUUID, redrive.State)
	}
	n.halted = redrive
	n.tell.say("%s.", redrive.HaltReason)
	return nil
}

// diagnose finds the remaining cause as an operator would: the returned items, their group, one letter of it.
func (n *night) diagnose(ctx context.Context) error {
	returned, err := n.returned(ctx)
	if err != nil {
		return err
	}
	story, err := n.inbox.Group(ctx, returned[0].GroupID)
	if err != nil {
		return err
	}
	n.tell.step("The wrong fix")
	n.tell.command("redrive report " + n.halted.RedriveUUID.String() + " --state returned")
	n.tell.say("%d letters came back, into the group %s:\n\n  %s", len(returned), story.GroupID, story.Title)
	if story.Sample != nil {
		n.tell.command("letter show " + story.Sample.LetterUUID.String())
		n.tell.say("Its last error is: %s.", story.Sample.Failure.Message)
	}
	n.tell.say("Release %s trims spaces, but the form writes this phase with a capital letter. Only the canary has met\n"+
		"the wrong fix; %s letters still wait.", release21.name, number(n.halted.Counts.Pending))
	return nil
}

func (n *night) returned(ctx context.Context) ([]deadletters.Item, error) {
	page, err := n.inbox.RedriveItems(ctx, n.halted.RedriveUUID,
		deadletters.ItemFilter{State: deadletters.ItemReturned, Limit: 1000})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 {
		return nil, fmt.Errorf("the redrive %s has halted, and none of its items came back", n.halted.RedriveUUID)
	}
	return page.Items, nil
}

// correct deploys release 2.2 and sends the rest, then the returned letters, which are open and need a second
// redrive.
func (n *night) correct(ctx context.Context) error {
	n.tell.step("The correction")
	if err := n.app.deploy(ctx, release22); err != nil {
		return err
	}
	n.tell.say("Release %s ignores the case of phases. The redrive goes on, with a new canary.", release22.name)
	n.tell.command("redrive resume " + n.halted.RedriveUUID.String())
	resumed, err := n.inbox.ActOnRedrive(ctx, n.halted.RedriveUUID, deadletters.RedriveAct{
		Action: deadletters.ResumeRedrive, Act: signed("release " + release22.name)})
	if err != nil {
		return fmt.Errorf("resume the redrive: %w", err)
	}
	if _, err := n.watch(ctx, resumed); err != nil {
		return err
	}
	returned, err := n.returned(ctx)
	if err != nil {
		return err
	}
	n.tell.say("What came back is open again, and goes the same way.")
	req := n.request("release " + release22.name)
	req.Selection.Groups = []string{returned[0].GroupID}
	n.tell.command("redrive start --group " + returned[0].GroupID + n.flags(req))
	_, err = n.start(ctx, req)
	return err
}

func (n *night) finish(ctx context.Context) (Summary, error) {
	if err := n.await(ctx, "import reports", func(context.Context) (int, bool, error) {
		stored := n.app.registry.len()
		return stored, stored == len(n.rows), nil
	}); err != nil && ctx.Err() != nil {
		return Summary{}, err // otherwise the check counts the missing ones
	}
	seconds := time.Since(n.started).Seconds()
	sum, err := n.check(ctx, seconds)
	if err != nil {
		return sum, err
	}
	groups, err := n.groups(ctx)
	if err != nil {
		return sum, err
	}
	n.tell.step("The end")
	n.tell.command("inbox")
	n.tell.groups(groups)
	n.tell.say("%s reports are imported. %s letters were sent back; %s deaths followed the wrong fix.\n"+
		"%d lost, %d sent twice: what the program received was compared with the inbox, letter by letter.",
		number(n.app.registry.len()), number(sum.Redriven), number(sum.Returned), sum.Lost, sum.Twice)
	return sum, nil
}

// request is a redrive in waves that starts immediately; the caller adds the selection.
func (n *night) request(reason string) deadletters.RedriveRequest {
	return deadletters.RedriveRequest{Operation: deadletters.OpRedrive,
		Selection: deadletters.Selection{Namespace: "default"}, Start: true, Act: signed(reason),
		Plan: deadletters.Plan{Canary: canary, Factor: factor, Largest: largest,
			ObserveSeconds: n.opts.Observe.Seconds()},
		Stop: deadletters.StopRule{ReturnedShare: share}}
}

func (n *night) flags(r deadletters.RedriveRequest) string {
	return fmt.Sprintf(" --canary %d --factor %g --largest %d --observe %s --stop-share %g --reason '%s'",
		r.Plan.Canary, r.Plan.Factor, r.Plan.Largest, n.opts.Observe, r.Stop.ReturnedShare, r.Reason)
}

func (n *night) start(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Redrive, error) {
	r, err := n.inbox.CreateRedrive(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("start the redrive: %w", err)
	}
	n.tell.command("redrive watch " + r.RedriveUUID.String())
	return n.watch(ctx, r)
}

// watch shows the waves that it sees until a redrive halts or ends, and returns it.
func (n *night) watch(ctx context.Context, r *deadletters.Redrive) (*deadletters.Redrive, error) {
	shown := 0
	err := n.await(ctx, "watch the redrive", func(ctx context.Context) (int, bool, error) {
		var err error
		if r, err = n.inbox.Redrive(ctx, r.RedriveUUID); err != nil {
			return 0, false, err
		}
		if r.State == deadletters.RedriveObserving && r.Wave > shown {
			shown = r.Wave
			n.tell.wave(r)
		}
		return r.Wave, r.State.Ended() || r.State == deadletters.RedriveHalted, nil
	})
	if err == nil {
		n.tell.state(r)
	}
	return r, err
}

func signed(reason string) deadletters.Act {
	return deadletters.Act{Actor: operatorName, Reason: reason}
}
