package subscriptions

import (
	"context"
	"slices"
	"strings"
	"time"
)

// maxTerminalStatuses bounds the list.
const maxTerminalStatuses = 100

// headerRunes are what a header's name is made of (RFC 9110).
const headerRunes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// TerminalAnswers are refusals of an endpoint that say that trying again is of no
// use: the message is dead-lettered at once. The zero value has none.
type TerminalAnswers struct {
	Statuses []int
	// Header names a header that an answer has with the value "true".
	Header string
}

// Match tells whether a refusal is terminal, by its status and the value that
// its header has.
func (t TerminalAnswers) Match(status int, header string) bool {
	return slices.Contains(t.Statuses, status) || t.Header != "" && strings.EqualFold(strings.TrimSpace(header), "true")
}

func (t TerminalAnswers) empty() bool { return len(t.Statuses) == 0 && t.Header == "" }

func (t TerminalAnswers) check() error {
	const field = "postrider.terminalAnswers."
	if len(t.Statuses) > maxTerminalStatuses {
		return Errorf(InvalidArgument, field+"statuses: at most %d are allowed, there are %d", maxTerminalStatuses, len(t.Statuses))
	}
	for i, status := range t.Statuses {
		switch {
		case status < 300 && !slices.Contains([]int{203, 205, 206, 207, 208, 226}, status), status > 599:
			return Errorf(InvalidArgument, field+"statuses[%d]: %d is not a status by which an endpoint refuses", i, status)
		case slices.Contains(t.Statuses[:i], status):
			return Errorf(InvalidArgument, field+"statuses[%d]: %d is there twice", i, status)
		}
	}
	if strings.Trim(t.Header, headerRunes) != "" {
		return Errorf(InvalidArgument, field+"header: %q is not the name of a header", clip(t.Header, 64))
	}
	return nil
}

// validateTerminal demands a place for what is refused for good, and for what has
// expired if that is to go there.
func (s *Subscription) validateTerminal() error {
	if !s.Terminal.empty() && s.DeadLetter == nil {
		return Errorf(InvalidArgument, "postrider.terminalAnswers: a subscription with terminal answers needs a deadLetterPolicy")
	}
	if s.DeadLetterLate && s.DeadLetter == nil {
		return Errorf(InvalidArgument, "postrider.expiredMessages: a subscription that dead-letters expired messages needs a deadLetterPolicy")
	}
	return nil
}

// Terminal is a delivery that an endpoint refused for good.
type Terminal struct {
	Delivery
	// Failure says why, as that of a Nack does.
	Failure
}

// settleTerminal moves messages to the dead-letter topic. Where there is none,
// or none any more, it refuses them.
func (s *Service) settleTerminal(ctx context.Context, sub Subscription, terminals []Terminal) error {
	if len(terminals) == 0 {
		return nil
	}
	var err error = Errorf(NotFound, "%s has no dead-letter topic", sub.Name)
	if sub.DeadLetter != nil {
		err = s.moveTerminal(ctx, sub, terminals)
	}
	if CodeOf(err) != NotFound {
		return err
	}
	nacks := make([]Nack, len(terminals))
	for i, t := range terminals {
		nacks[i] = Nack{Receipt: t.Receipt(), Failure: t.Failure}
	}
	_, err = s.store.Nack(ctx, s.nackRequest(sub, nacks))
	return err
}

// moveTerminal moves messages with what the store keeps of their earlier attempts.
func (s *Service) moveTerminal(ctx context.Context, sub Subscription, terminals []Terminal) error {
	dead, settled := make([]Delivery, len(terminals)), make([]Receipt, len(terminals))
	for i, t := range terminals {
		dead[i], settled[i] = t.Delivery, t.Receipt()
	}
	earlier, err := s.store.Attempts(ctx, sub.Ref(), settled)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	for i, t := range terminals {
		dead[i].Failed = AddAttempt(Attempt{t.Attempt, now, t.Failure}, earlier[i])
	}
	return s.moveDead(ctx, sub, dead)
}
