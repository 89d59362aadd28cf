// Package sensitive masks values of JSON documents that a list of JSON pointers selects. It is pure.
//
// A pointer is that of RFC 6901, with one addition: the segment * matches every member of an object and every element
// of an array. Documents are masked as bytes: other values stay as written, so that big integers, the order of members
// and duplicate members survive.
//
// A Set is immutable and safe for concurrent use.
package sensitive
