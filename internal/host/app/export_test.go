package app

// Serve is tested with a store that tells what happens to it.
var Serve = serve
