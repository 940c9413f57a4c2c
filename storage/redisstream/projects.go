package redisstream

import (
	"context"
	"slices"
)

var noteProjectScript = newScript("note_project")

// Projects implements subscriptions.Feed.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	projects, err := s.client.SMembers(ctx, s.keys.projects()).Result()
	slices.Sort(projects)
	return projects, failed(ctx, "projects", err)
}

// noteProject puts a project on the list. It comes before each insert, which is rare: to remember what was noted would be
// wrong once Redis has lost it.
func (s *Store) noteProject(ctx context.Context, project string) error {
	_, err := s.run(ctx, noteProjectScript, []string{s.keys.projects(), s.keys.format()}, project, formatVersion)
	return err
}
