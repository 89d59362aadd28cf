// Package webhooks is an example of a sender of webhooks with a worker in TypeScript: a rate and an order for each
// receiver, retries, repair. See README.md.
package webhooks
