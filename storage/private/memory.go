package private

// The share of the memory that Redis may fill by default, and what it gets where the system does not tell how much it has.
const (
	defaultShare  = 2
	unknownMemory = 1 << 30
)

func defaultMemory() int64 {
	usable := UsableMemory()
	if usable <= 0 {
		return unknownMemory
	}
	return max(usable/defaultShare, LeastMemory)
}
