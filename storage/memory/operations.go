package memory

import (
	"context"

	"postrider/subscriptions"
)

func operationStamp(o subscriptions.Operation) stamp {
	return stamp{o.Name, o.Name.Project, o.Name.ID, o.UID, o.Revision, subscriptions.Change{Operation: o.Name}}
}

// InsertOperation implements subscriptions.OperationCatalog.
func (s *Store) InsertOperation(_ context.Context, op subscriptions.Operation) error {
	return insert(s, s.operationRecords, op)
}

// Operation implements subscriptions.OperationCatalog.
func (s *Store) Operation(_ context.Context, name subscriptions.OperationName) (subscriptions.Operation, error) {
	return read(s, s.operationRecords, name.Project, name.ID, name)
}

// ReplaceOperation implements subscriptions.OperationCatalog.
func (s *Store) ReplaceOperation(_ context.Context, op subscriptions.Operation) error {
	return replace(s, s.operationRecords, op)
}

// RemoveOperation implements subscriptions.OperationCatalog.
func (s *Store) RemoveOperation(_ context.Context, name subscriptions.OperationName, uid string) error {
	return remove(s, s.operationRecords, name.Project, name.ID, uid)
}

// ListOperations implements subscriptions.OperationCatalog.
func (s *Store) ListOperations(_ context.Context, project, after string, limit int) ([]subscriptions.Operation, error) {
	return list(s, s.operationRecords, project, after, limit)
}
