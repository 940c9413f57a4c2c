package subscriptions

// Delivery is a message leased to one caller.
type Delivery struct {
	Message Message
	// LogID is the id of the message's place in the log, if that is another one
	// than its own: it was delayed.
	LogID MessageID
	// Number rises with every lease of the message. It tells this lease from
	// an earlier one of the same message.
	Number int64
	// Attempt is 1 plus how often the message was nacked or its lease ran out:
	// Number less the leases that were released unused.
	Attempt int
	// Epoch is the subscription's seek epoch at the lease.
	Epoch int64
	// Key is the message's KeyHash if the subscription delivers in order, else 0.
	Key uint64
	// Failed are the last attempts that failed, newest first, as far as they are
	// kept. Leases leave them out.
	Failed []Attempt
	// Late is set by Sweep alone: the message is dead since its time to live is
	// over.
	Late bool
}

// Receipt is what a lease is settled with: which message, which delivery of
// it, and in which seek epoch.
type Receipt struct {
	// ID is that of the message's place in the log.
	ID     MessageID
	Number int64
	Epoch  int64
	// Key is the Key of the delivery.
	Key uint64
	// Size is the message's Size, kept here so that an ack needs no look at
	// the log to keep the sum of outstanding bytes.
	Size int
}

// Receipt returns what settles d.
func (d Delivery) Receipt() Receipt {
	return Receipt{ID: d.Place(), Number: d.Number, Epoch: d.Epoch, Key: d.Key, Size: d.Message.Size()}
}

// Place is the id of the message's place in the log.
func (d Delivery) Place() MessageID {
	if d.LogID.IsZero() {
		return d.Message.ID
	}
	return d.LogID
}

// Release gives a lease back unused.
type Release struct {
	Receipt
	// Failure, if it has a Reason, is remembered of the message: it was tried, though
	// that spends no attempt.
	Failure
}
