// Package waits is the public API of steps that wait for something outside of workers: signals from other systems, and
// approvals.
//
// Of returns the Backend for a tasker.Client, on a server or on an engine in the same process:
//
//	_, err := waits.Of(client).SendSignal(ctx, waits.SignalRequest{
//		Namespace: "shop", Name: "payment.settled", Key: "order-7", Payload: json.RawMessage(`{"amount": 12}`),
//	})
package waits
