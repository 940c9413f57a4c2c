// Package private keeps a Redis of one's own: a redis-server that runs as a child of this process, listens on a unix socket
// only, and writes an append-only file into a folder.
//
//	server, err := private.Open(ctx, private.Options{Dir: dir})
//	…
//	defer server.Close()
//	go server.Run(ctx) // in an errgroup: starts it again when it dies
//	client(server.URL())
//
// The folder holds:
//
//	lock        held by the server, and naming it
//	redis.lock  held by the server and by its redis-server, to which it is handed down
//	format      the version of all this
//	redis/      what Redis writes, and its socket: nobody else may enter (0700)
//
// Two locks, since two things must be known: whether another server is alive, which is then refused, and whether the
// redis-server of a killed one is not gone yet, for which the next server waits. The kernel lets go of both however their
// holders end.
//
// What ends a redis-server and what a killed one leaves behind, as half a command at the end of its file, is mended without
// anybody's help. Before the disk is full, publishes are refused as if memory were, so that what is left of it serves
// acknowledgements and what they make room for: see room.go.
package private
