package app

var Serve = serve
