package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/embedded"
)

// A failed event is reported, found by its topic and discarded.
func ExampleTopicsOf() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "topics")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	client, err := embedded.Open(ctx, "sqlite:"+dir+"/tasker.db", nil) // or remote.Dial: a client of a server
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	report := deadletters.NewReport("pod-events", []byte(`{"pod": "web-1"}`), errors.New("no such node"))
	report.MessageID = "event-1"
	req := deadletters.ReportRequest{Source: "platform", Reports: []deadletters.Report{report}}
	if _, err := deadletters.Of(client).Report(ctx, req); err != nil {
		log.Fatal(err)
	}

	topics := deadletters.TopicsOf(client)
	page, err := topics.Messages(ctx, deadletters.MessageFilter{Topic: "pod-events", Status: deadletters.MessagePending})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range page.Messages {
		fmt.Println(m.EventID, m.Error, string(m.Event))
	}
	name := deadletters.MessageName{EventID: "event-1"}
	done, err := topics.Discard(ctx, name, deadletters.Act{Actor: "ann", Reason: "the pod is gone"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Message)
	stats, err := topics.Stats(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.ByStatus.Discarded, "discarded")
	// Output:
	// event-1 no such node {"pod": "web-1"}
	// Message event-1 discarded
	// 1 discarded
}
