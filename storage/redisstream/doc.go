// Package redisstream is [subscriptions.Store] on Redis 7 or later, or Valkey: plain, TLS, Sentinel or Cluster.
//
// Each method that changes state is one Lua script, a file of the method's name, so that it is one atomic step; shared
// pieces of Lua are put in front of the scripts that need them (script.go). All of a topic's state is in one hash slot, so
// the same scripts run on a cluster. keys.go alone spells key names, encode.go and record.go alone know the stored format.
//
// What a step does is specified by storage/memory, and both are held to it by storage/storagetest.
package redisstream
