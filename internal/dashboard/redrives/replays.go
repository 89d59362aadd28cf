package redrives

import (
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

func (p *pages) addReplays(f *page.Family) {
	page.AddList(f, page.ListPage[deadletters.TopicReplay, replayList]{
		Page: page.Page[replayList]{Path: "/replays", File: "replays.html", Section: "redrives", Needs: reads,
			Topics: []string{live.Redrives, live.Clock}},
		Rows: p.replays, Show: showReplays,
		Columns: []string{"replay_uuid", "namespace", "source", "topic", "into", "state", "letters", "tasks", "known", "gone",
			"left", "actor", "created_at", "ended_at"},
		Record: replayRecord,
	})
	page.Add(f, page.Page[replayPage]{Path: "/replays/{replay}", File: "replay.html", Section: "redrives", Needs: reads,
		Topics: []string{live.Redrives, live.Clock}, Load: p.replay})
	f.Act("/replays/{replay}/act", acts, p.actOnReplay)
}

type replayList struct {
	Replays []deadletters.TopicReplay
	Pager   page.Pager
}

func (p *pages) replays(r *page.Request, cursor string) (page.List[deadletters.TopicReplay], error) {
	got, err := p.letters.Replays(r.Context(), deadletters.ReplayFilter{Namespace: r.Namespace(), Limit: 50,
		Cursor: cursor})
	if err != nil {
		return page.List[deadletters.TopicReplay]{}, err
	}
	return page.List[deadletters.TopicReplay]{Items: got.Replays, Next: got.NextCursor}, nil
}

func showReplays(r *page.Request, of page.List[deadletters.TopicReplay]) (replayList, error) {
	return replayList{of.Items, of.Pager(r)}, nil
}

func replayRecord(d deadletters.TopicReplay) []string {
	ended, count := "", func(n int64) string { return strconv.FormatInt(n, 10) }
	if d.EndedAt != nil {
		ended = d.EndedAt.UTC().Format(time.RFC3339)
	}
	return []string{d.ReplayUUID.String(), d.Namespace, d.Source, d.Topic, d.Into, string(d.State),
		count(d.Counts.Letters), count(d.Counts.Tasks), count(d.Counts.Known), count(d.Counts.Gone), count(d.Left()), d.Actor,
		d.CreatedAt.UTC().Format(time.RFC3339), ended}
}

type replayPage struct {
	Replay *deadletters.TopicReplay
	Acts   bool
	Of     int64 // offsets of the range
	Done   int64 // those that were read
}

func (p *pages) replay(r *page.Request) (out replayPage, err error) {
	id, err := r.UUID("replay")
	if err != nil {
		return out, err
	}
	if out.Replay, err = p.letters.Replay(r.Context(), id); err != nil {
		return out, err
	}
	for _, part := range out.Replay.Parts {
		out.Of += part.To - part.From
	}
	out.Done, out.Acts = out.Of-out.Replay.Left(), r.Can(acts...)
	return out, nil
}

func (p *pages) actOnReplay(r *page.Request) (page.Done, error) {
	id, err := r.UUID("replay")
	if err != nil {
		return page.Done{}, err
	}
	says := map[string]string{"start": "The replay starts.", "pause": "The replay is paused.",
		"resume": "The replay goes on.", "cancel": "The replay is cancelled. What was read stays."}
	do := r.Form("do")
	if says[do] == "" {
		return page.Done{}, tasker.Errorf(tasker.CodeInvalid, "do must be start, pause, resume or cancel")
	}
	_, err = p.letters.ActOnReplay(r.Context(), id, deadletters.RedriveAct{Action: deadletters.RedriveAction(do),
		Act: deadletters.Act{Actor: r.Name, Reason: r.Form("reason"), IfMatch: r.Form("etag")}})
	return page.Done{To: "/replays/" + id.String(), Say: says[do]}, err
}

// LeftOf returns the number of unread offsets of a partition.
func (replayPage) LeftOf(part deadletters.ReplayPart) int64 { return part.To - part.Next }
