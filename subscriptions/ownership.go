package subscriptions

import "hash/fnv"

// ownerOf picks the server that pushes and sweeps for a subscription: the one
// with the highest hash of server and UID (rendezvous hashing, Thaler and
// Ravishankar 1996). When a server comes or goes only what it gains or had
// moves. Servers that for a moment disagree do no harm: leases decide.
func ownerOf(uid string, live []string) string {
	var owner string
	var highest uint64
	for _, server := range live {
		if weight := rendezvous(server, uid); owner == "" || weight > highest {
			owner, highest = server, weight
		}
	}
	return owner
}

func rendezvous(server, uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(server))
	h.Write([]byte{0})
	h.Write([]byte(uid))
	// FNV alone spreads short, similar inputs badly in its high bits; the
	// finalizer of MurmurHash3 mixes them.
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
