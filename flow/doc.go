// Package flow is the public API of flow control, which holds back ready work. Operators pause a route, a handler, a
// template or a namespace, and resume it.
//
// Of returns the Backend for a tasker.Client, on a server or on an engine in the same process:
//
//	_, err := flow.Of(client).Pause(ctx, flow.PauseRequest{
//		Target: flow.Target{Kind: flow.Handler, Namespace: "shop", Handler: "charge"},
//		Reason: "the bank is down",
//	})
//
// A pause loses nothing: running work continues, submissions are accepted, and their steps wait. Operators also limit
// how many steps of a handler or a route run concurrently, or begin in a time:
//
//	_, err := flow.Of(client).SetLimit(ctx, flow.LimitRequest{
//		LimitTarget: flow.LimitTarget{Kind: flow.Handler, Handler: "mail"},
//		Concurrency: 5, Reason: "the server is slow",
//	})
//
// An outage holds back a route with many failures: Outages lists them, CloseOutage closes one.
package flow
