// Package amqp connects to brokers with AMQP 0-9-1, such as RabbitMQ, for the dispatcher, the brokers of dead letters
// and workers. It neither reconnects nor retries.
//
//	amqp://[USER:PASSWORD@]HOST[:PORT][/VHOST][?PARAMETERS]   amqps:// with TLS
//
// The parameters are those of RabbitMQ's own clients:
//
//	heartbeat=10              seconds; 0: none. Without an answer for some of them the connection is lost
//	connection_timeout=30000  milliseconds for connecting and the handshakes
//	channel_max=2047          channels
//	auth_mechanism=plain      plain, amqplain or external; may be given several times
//	cacertfile=FILE           certificates in PEM that are trusted instead of those of the system; amqps only
//	certfile=FILE, keyfile=FILE   the certificate of this client and its key, in PEM; amqps only
//	verify=verify_peer        verify_peer or verify_none; amqps only
//	server_name_indication=HOST   the name in the server's certificate, if that is not HOST of the URL; amqps only
//
// Callers may add their own parameters. url.go reads URLs, conn.go connects, and coalesce.go joins small writes.
package amqp
