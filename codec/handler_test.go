package codec_test

import (
	"context"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
)

// A handler under test reads and returns clear text; tasks that it submits with the application's client are encoded.
func TestHandlersInClearText(t *testing.T) {
	t.Parallel()
	type order struct{ Card string }
	fake := tasktest.NewClient()
	client, err := fake.WithCodec(tasker.CodecOptions{Codec: parse(t, key(t, "a"))})
	if err != nil {
		t.Fatal(err)
	}
	out := tasktest.RunHandler(t, worker.Typed(func(ctx context.Context, o order) (string, error) {
		_, err := client.Submit(ctx, tasker.NewTask("ship", o))
		return "charged " + o.Card, err
	}), tasktest.Step{Context: order{"4111"}})
	var result string
	if err := out.Decode(&result); err != nil || result != "charged 4111" {
		t.Errorf("the result is %q, %v", result, err)
	}
	sent := fake.Submitted()
	var next order
	if len(sent) != 1 || !envelope.Is(sent[0].Context) {
		t.Fatalf("submitted %+v", sent)
	}
	if err := client.DecodeValue(t.Context(), sent[0].Context, &next); err != nil || next.Card != "4111" {
		t.Errorf("submitted %+v, %v", next, err)
	}
}
