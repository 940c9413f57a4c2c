package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"postrider/storage/private/child"
)

// Server is a private Redis. Its folder is ours until Close.
type Server struct {
	options Options
	program string
	folder  *folder
	log     *seldom

	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	child   *child.Process // the present one, or the last
	serving bool           // it has answered
	limit   int64          // its maxmemory
	kills   int64          // of the kernel for want of memory, before its start
	why     string         // the one before ended; empty before the first death
	retry   time.Time      // when the next is started, after a death
	room    room
}

// Open takes the folder, starts a redis-server and waits until it answers, with its data loaded. Its errors say what is
// missing, for people.
func Open(ctx context.Context, o Options) (*Server, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	program, err := findProgram(ctx, o.Program)
	if err != nil {
		return nil, fmt.Errorf("private Redis: %w", err)
	}
	f, err := claim(ctx, o.Dir, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, program: program, folder: f, log: &seldom{log: o.Logger}}
	s.life, s.end = context.WithCancel(context.Background())
	s.look()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("private Redis in %s: %w", o.Dir, err), s.Close())
	}
	return s, nil
}

// URL is where the server listens, as unix:// and a path. It stays the same as long as the server is open.
func (s *Server) URL() string { return socketURL(s.folder.socket) }

// Dir is the folder, as a full path.
func (s *Server) Dir() string { return s.folder.dir }

// stopPatience is how long Redis may take to stop. It takes milliseconds, but has to write what it has not written yet.
const stopPatience = 10 * time.Second

// Close stops redis-server in good order, and lets another server have the folder. It ends Run.
func (s *Server) Close() error {
	s.end()
	s.mu.Lock()
	p, serving, again := s.child, s.serving, s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	defer s.folder.release()
	if p == nil || p.Ended() {
		return nil
	}
	if !serving { // it loads its data, and does not listen meanwhile; nor has it anything to write
		p.Kill()
		return nil
	}
	if err := p.Stop(stopPatience); err != nil {
		return fmt.Errorf("private Redis in %s did not stop in good order: %w", s.folder.dir, err)
	}
	return nil
}

var errClosed = errors.New("it is closed")

// start runs a redis-server and waits until it answers. One that refuses its append-only file for what stands at its end
// gets another try without that.
func (s *Server) start(ctx context.Context) error {
	err := s.attempt(ctx)
	var end *child.EndError
	if !errors.As(err, &end) || end.Killed() {
		return err
	}
	cut, repairErr := repair(s.folder.redisDir())
	if repairErr != nil {
		return fmt.Errorf("%w; %w", err, repairErr)
	}
	if cut == nil {
		return err
	}
	s.options.Logger.Warn("the append-only file ended in what is no command, as a power failure leaves it; that is cut off and kept",
		"file", cut.file, "bytes", cut.bytes, "kept_in", cut.kept)
	return s.attempt(ctx)
}

func (s *Server) attempt(ctx context.Context) error {
	p, err := s.launch()
	if err != nil {
		return err
	}
	if err := p.Await(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = true
	return nil
}

// launch runs a redis-server unless we are closed: after Close there must be none.
func (s *Server) launch() (*child.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if err := s.folder.removeLeftovers(); err != nil {
		return nil, err
	}
	limit, dir := s.memoryLimit(), s.folder.redisDir()
	p, err := child.Start(child.Command{
		Program: s.program, Args: s.options.arguments(dir, s.folder.socket, limit),
		Dir: dir, Socket: s.folder.socket, Files: []*os.File{s.folder.redisLock},
		Line: func(line string) { s.options.Logger.Debug("redis-server: " + line) },
	})
	if err != nil {
		return nil, err
	}
	s.child, s.serving, s.limit, s.kills = p, false, limit, oomKills()
	return p, nil
}

// present is the redis-server of now, or the last, and whether it serves.
func (s *Server) present() (p *child.Process, serving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child, s.serving && !s.child.Ended()
}
