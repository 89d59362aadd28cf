package codec_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/codec"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/worker"
)

// The card is encoded in this process. The handler gets clear text; the store has an envelope.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	open, err := embedded.Open(ctx, "memory:", nil) // or remote.Dial
	if err != nil {
		log.Fatal(err)
	}
	keys, err := codec.Parse("2026-01 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=") // made by codec.GenerateKey
	if err != nil {
		log.Fatal(err)
	}
	client, err := open.WithCodec(tasker.CodecOptions{Codec: keys, ContextFields: []string{"/card"}})
	if err != nil {
		log.Fatal(err)
	}

	type order struct {
		ID   int    `json:"id"`
		Card string `json:"card"`
	}
	w := worker.New(client, nil)
	worker.Handle(w, "charge", func(_ context.Context, o order) (string, error) {
		return "charged " + o.Card, nil
	})
	go w.Run(ctx)
	task, _ := client.Submit(ctx, tasker.NewHandlerTask("charge", order{ID: 17, Card: "4111"}))
	var out string
	fmt.Println(client.Result(ctx, task.TaskUUID, "", &out), out)

	stored, _ := open.Task(ctx, task.TaskUUID, 0) // without the codec
	text, _, _ := strings.Cut(string(stored.Context), `"data"`)
	fmt.Println(text, strings.Contains(string(stored.Context), "4111"))
	// Output:
	// <nil> charged 4111
	// {"id":17,"card":{"$tasker.codec":"aes-256-gcm","key":"2026-01", false
}
