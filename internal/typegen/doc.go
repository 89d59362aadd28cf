// Package typegen writes the models of the clients in other languages from the OpenAPI document: a type for each
// schema, without behaviour and without a dependency. The test of the document in internal/httpapi keeps them current.
package typegen
