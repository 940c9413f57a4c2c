package subscriptions

// Bounds of PushLimits.
const (
	MaxPushOutstanding = 100_000
	MinPushRate        = 0.01
	MaxPushRate        = 100_000
)

// PushLimits are what an endpoint may get at most, whatever flow control would
// let go. Zero is no limit.
type PushLimits struct {
	// MaxOutstanding is how many pushes may be with the endpoint at once.
	MaxOutstanding int
	// MaxPerSecond is how many may begin in a second, on average.
	MaxPerSecond float64
}

func (l PushLimits) check() error {
	if l.MaxOutstanding < 0 || l.MaxOutstanding > MaxPushOutstanding {
		return Errorf(InvalidArgument, "postrider.pushLimits.maxOutstanding: must be 1 to %d, or absent for no limit, not %d", MaxPushOutstanding, l.MaxOutstanding)
	}
	if r := l.MaxPerSecond; r != 0 && !(r >= MinPushRate && r <= MaxPushRate) {
		return Errorf(InvalidArgument, "postrider.pushLimits.maxPerSecond: must be %v to %d, or absent for no limit, not %v", MinPushRate, MaxPushRate, r)
	}
	return nil
}
