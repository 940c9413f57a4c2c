package redisstream

import (
	"context"
	"slices"
)

// Projects implements subscriptions.Feed.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	projects, err := s.client.SMembers(ctx, s.keys.projects()).Result()
	slices.Sort(projects)
	return projects, failed(ctx, "projects", err)
}

// noteProject puts a project on the list. It comes before each insert, which is rare: to remember what was noted would be
// wrong once Redis has lost it.
func (s *Store) noteProject(ctx context.Context, project string) error {
	return failed(ctx, "note project", s.client.SAdd(ctx, s.keys.projects(), project).Err())
}
