package main

// spareHeap is memory that nobody touches, so that the system never hands it out, but that counts when the garbage collector
// decides how much may be allocated before it runs again: as much as there is. A server holds a few megabytes and allocates
// a hundred a second under load, so it collected thirty times a second, which took a quarter of its time. With the spare
// memory its heap may grow to twice as much first. Where the operator tells the collector what to do, that counts instead.
//
// Keep it alive as long as it is to count.
func spareHeap(p process) []byte {
	if p.getenv("GOGC") != "" || p.getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, spareBytes)
}

const spareBytes = 32 << 20
