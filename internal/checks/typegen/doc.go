// Package typegen writes the models and operations of the clients in other languages from the OpenAPI document: a type
// for each schema, and a method for each operation that needs no more than a request. The test of the document in
// internal/api/httpapi keeps them current.
package typegen
