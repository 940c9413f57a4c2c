package redisstream

import (
	"context"

	"postrider/subscriptions"
)

// InsertOperation implements subscriptions.OperationCatalog.
func (s *Store) InsertOperation(ctx context.Context, op subscriptions.Operation) error {
	stored, err := encodeOperation(op)
	if err != nil {
		return err
	}
	if err := s.noteProject(ctx, op.Name.Project); err != nil {
		return err
	}
	added, err := s.write(ctx, insertScript, op.Name.Project, op.Name.String(), operations+op.Name.ID, stored)
	if err == nil && !added {
		return subscriptions.Errorf(subscriptions.AlreadyExists, "the operation %s exists already", op.Name)
	}
	return err
}

// Operation implements subscriptions.OperationCatalog.
func (s *Store) Operation(ctx context.Context, name subscriptions.OperationName) (subscriptions.Operation, error) {
	stored, found, err := s.record(ctx, name.Project, operations+name.ID)
	if err != nil {
		return subscriptions.Operation{}, err
	}
	if !found {
		return subscriptions.Operation{}, subscriptions.Errorf(subscriptions.NotFound, "there is no operation %s", name)
	}
	return decodeOperation(name, stored)
}

// ReplaceOperation implements subscriptions.OperationCatalog.
func (s *Store) ReplaceOperation(ctx context.Context, op subscriptions.Operation) error {
	stored, err := encodeOperation(op)
	if err != nil {
		return err
	}
	replaced, err := s.write(ctx, replaceScript, op.Name.Project, op.Name.String(),
		operations+op.Name.ID, ofRevision(op.UID, op.Revision-1), stored)
	if err == nil && !replaced {
		return subscriptions.Errorf(subscriptions.Aborted, "the operation %s was changed by another request", op.Name)
	}
	return err
}

// RemoveOperation implements subscriptions.OperationCatalog.
func (s *Store) RemoveOperation(ctx context.Context, name subscriptions.OperationName, uid string) error {
	_, err := s.write(ctx, removeScript, name.Project, name.String(), operations+name.ID, ofUID(uid))
	return err
}

// ListOperations implements subscriptions.OperationCatalog.
func (s *Store) ListOperations(
	ctx context.Context, project, after string, limit int,
) ([]subscriptions.Operation, error) {
	reply, err := s.run(ctx, listScript, s.keys.catalog(project), operations+after, afterOperations, limit)
	if err != nil {
		return nil, err
	}
	return decodeList(reply, func(id, stored string) (subscriptions.Operation, error) {
		return decodeOperation(subscriptions.OperationName{Project: project, ID: id}, stored)
	})
}
