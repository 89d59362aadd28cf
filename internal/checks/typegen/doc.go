// Package typegen generates the models and operations of the clients in other languages from the OpenAPI document: a
// type for each schema, and a method for each operation that is a plain request. The document's test in
// internal/api/httpapi keeps them current.
package typegen
