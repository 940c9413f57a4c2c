package subscriptions

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// OperationLife is how long the record of an operation is kept after its end.
	OperationLife = 7 * 24 * time.Hour
	// operationBeat is how often an operation writes how far it is, and looks
	// whether it is to end.
	operationBeat = time.Second
	// longestPause bounds what a rate near 0 makes an operation wait.
	longestPause = 365 * 24 * time.Hour
	// forgetAfter is how long a topic still knows what it took after the dead letter
	// is gone: longer than another server, or another operation, that saw the dead
	// letter before may take to put it back, too, which is stepTimeout.
	forgetAfter = 3 * stepTimeout
)

// operator works on the operations that this server owns. Two servers that work
// on one for a moment do no harm: each step may be repeated.
type operator struct {
	s *Service

	mu      sync.Mutex
	owned   []Operation
	working map[string]context.CancelFunc // by UID
	changed chan struct{}
}

func newOperator(s *Service) *operator {
	return &operator{s: s, working: map[string]context.CancelFunc{}, changed: make(chan struct{}, 1)}
}

// setOwned replaces what this server works on. It does not block.
func (o *operator) setOwned(ops []Operation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owned = ops
	signal(o.changed)
}

// run works until ctx ends.
func (o *operator) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for {
		o.start(ctx, g)
		if !sleep(ctx, rereadEvery, o.changed) {
			return g.Wait()
		}
	}
}

// start begins with what is owned now, and stops what is no longer.
func (o *operator) start(ctx context.Context, g *errgroup.Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	owned := map[string]bool{}
	for _, op := range o.owned {
		owned[op.UID] = true
		if o.working[op.UID] != nil || op.Done && time.Since(op.Ended) < OperationLife {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		o.working[op.UID] = cancel
		g.Go(func() error {
			defer o.ended(op.UID)
			o.work(ctx, op)
			return nil
		})
	}
	for uid, cancel := range o.working {
		if !owned[uid] {
			cancel()
		}
	}
}

func (o *operator) ended(uid string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.working[uid]()
	delete(o.working, uid)
}

// work goes on with an operation until it is done or ctx ends, or removes the
// record of one that is long done.
func (o *operator) work(ctx context.Context, op Operation) {
	if op.Done {
		o.s.logFailure(ctx, "remove an operation that ended long ago", op.Name.String(), o.s.store.RemoveOperation(ctx, op.Name, op.UID))
		return
	}
	for ctx.Err() == nil {
		done, err := o.workOn(ctx, op)
		if done {
			return
		}
		o.s.logFailure(ctx, "work on an operation", op.Name.String(), err)
		sleep(ctx, operationBeat, nil)
	}
}

// workOn reads the record and works from where it is, writing now and then how far
// it came. It tells whether there is no more to do.
func (o *operator) workOn(ctx context.Context, owned Operation) (done bool, err error) {
	op, err := o.s.store.Operation(ctx, owned.Name)
	if CodeOf(err) == NotFound || err == nil && (op.UID != owned.UID || op.Done) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	search, written := op.Query.search(), time.Now()
	for {
		moved, err := 0, error(nil)
		if op.CancelRequested {
			err = Errorf(Canceled, "it was cancelled")
		} else {
			moved, err = o.s.workStep(ctx, &op, search)
		}
		if ctx.Err() != nil {
			return true, nil // another server goes on
		}
		if final := ending(err); final != nil {
			op.Done, op.Failure = true, final
		} else if err != nil {
			return false, err
		}
		pause := op.pause(moved)
		if op.Done || pause > 0 || time.Since(written) >= operationBeat {
			if op, err = o.write(ctx, op); err != nil || op.Done {
				return err == nil, err
			}
			written = time.Now()
		}
		if !o.pause(ctx, &op, pause) {
			return true, nil
		}
	}
}

// ending is an error that another try does not mend.
func ending(err error) *Error {
	var e *Error
	if errors.As(err, &e) && (e.Code == Canceled || e.Code == NotFound || e.Code == FailedPrecondition) {
		return e
	}
	return nil
}

// pause is how long to wait after a step that moved so many.
func (o Operation) pause(moved int) time.Duration {
	switch {
	case o.Progress.Waiting != "":
		return operationBeat
	case o.PerSecond > 0 && moved > 0 && !o.Done:
		return time.Duration(min(float64(moved)/o.PerSecond, longestPause.Seconds()) * float64(time.Second))
	}
	return 0
}

// pause waits, unless op is to end meanwhile. It is false when ctx ends.
func (o *operator) pause(ctx context.Context, op *Operation, d time.Duration) bool {
	for ; d > 0; d -= operationBeat {
		if !sleep(ctx, min(d, operationBeat), nil) {
			return false
		}
		if now, err := o.s.store.Operation(ctx, op.Name); err == nil && now.CancelRequested {
			op.CancelRequested = true
			return true
		}
	}
	return ctx.Err() == nil
}

// logEnd logs that an operation ended, with why if that was before its end.
func (o *operator) logEnd(ctx context.Context, op Operation) {
	about := []any{"name", op.Name.String(), "moved", op.Progress.Moved, "failed", op.Progress.Failed}
	if op.Failure != nil {
		about = append(about, "failure", op.Failure)
	}
	o.s.log.InfoContext(ctx, "an operation ended", about...)
}

// write writes how far an operation is, and returns it with what others wrote.
func (o *operator) write(ctx context.Context, op Operation) (Operation, error) {
	ctx, cancel := step(ctx)
	defer cancel()
	if op.Done {
		op.Ended = time.Now().UTC().Truncate(time.Millisecond)
		o.logEnd(ctx, op)
	}
	return o.s.changeOperation(ctx, op.Name, func(now *Operation) {
		if now.UID != op.UID {
			return
		}
		cancel, revision := now.CancelRequested, now.Revision
		*now = op
		now.CancelRequested, now.Revision = cancel || op.CancelRequested, revision
	})
}
