package subscriptions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// GetOperation returns an operation. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) GetOperation(ctx context.Context, name OperationName) (Operation, error) {
	if err := name.Validate(); err != nil {
		return Operation{}, err
	}
	op, err := s.store.Operation(ctx, name)
	if CodeOf(err) == NotFound {
		return op, Errorf(NotFound, "%s does not exist", name)
	}
	return op, err
}

// ListOperations lists the operations of a project, the newest first. One that
// begins between two pages moves none to another page. Those that ended are kept
// for OperationLife. INVALID_ARGUMENT.
func (s *Service) ListOperations(ctx context.Context, project string, p Page) (page []Operation, next string, err error) {
	if err := ValidateProject(project); err != nil {
		return nil, "", err
	}
	size, after, err := p.start()
	if err != nil {
		return nil, "", err
	}
	from, err := parseOperationPlace(p.Token, after)
	if err != nil {
		return nil, "", err
	}
	// There are few, and the store has them in the order of their names, which tells nothing.
	err = everyPage(func(after string) (int, string, error) {
		ops, err := s.store.ListOperations(ctx, project, after, MaxPageSize)
		for _, op := range ops {
			after = op.Name.ID
			if p.Token == "" || op.place().compare(from) > 0 {
				page = append(page, op)
			}
		}
		return len(ops), after, err
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(page, func(a, b Operation) int { return a.place().compare(b.place()) })
	if len(page) > size {
		page = page[:size]
		next = pageToken(page[size-1].place().String())
	}
	return page, next, nil
}

// operationPlace is the place of an operation in the list.
type operationPlace struct {
	created int64 // in milliseconds
	id      string
}

func (o Operation) place() operationPlace { return operationPlace{o.Created.UnixMilli(), o.Name.ID} }

// compare orders the newest first.
func (p operationPlace) compare(other operationPlace) int {
	return cmp.Or(cmp.Compare(other.created, p.created), strings.Compare(p.id, other.id))
}

func (p operationPlace) String() string { return fmt.Sprint(p.created, " ", p.id) }

// parseOperationPlace reads what String writes; empty is the zero place.
func parseOperationPlace(token, s string) (p operationPlace, err error) {
	if s == "" {
		return p, nil
	}
	if _, err := fmt.Sscanf(s, "%d %s", &p.created, &p.id); err != nil || p.String() != s {
		return p, badPageToken(token)
	}
	return p, nil
}

// CancelOperation asks an operation to end, which it does within seconds. What it
// did stays done. One that has ended stays as it is. NOT_FOUND, INVALID_ARGUMENT.
func (s *Service) CancelOperation(ctx context.Context, name OperationName) (Operation, error) {
	return s.changeOperation(ctx, name, func(op *Operation) { op.CancelRequested = true })
}

// changeOperation changes an operation that has not ended.
func (s *Service) changeOperation(ctx context.Context, name OperationName, change func(*Operation)) (Operation, error) {
	return replaced(
		func() (Operation, error) { return s.GetOperation(ctx, name) },
		func(op Operation) (Operation, error) {
			if !op.Done {
				change(&op)
			}
			op.Revision++
			return op, nil
		},
		func(op Operation) error { return s.store.ReplaceOperation(ctx, op) })
}
