package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// newBenchServer is the server with a way to profile it, which a bench starts. It is not for people.
func newBenchServer(p process) *cobra.Command {
	config := Config{LogFormat: formatText}
	c := &cobra.Command{
		Use: "server", Short: "Run a server that a bench can profile", Hidden: true, Args: noArgs, Example: "  postrider bench server",
	}
	c.Flags().AddFlagSet(serverFlags(&config))
	c.RunE = func(c *cobra.Command, _ []string) error {
		defer runtime.KeepAlive(spareHeap(p)) // as "serve" does
		a, err := newApp(c.Context(), config, newLogger(p.err, config))
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return errors.Join(err, a.close())
		}
		fmt.Fprintf(p.err, "%s%s, %s%s\n", listeningOn, a.Addr(), servingProfiles, listener.Addr())
		parts, ctx := errgroup.WithContext(c.Context())
		parts.Go(func() error { return a.Run(ctx) })
		parts.Go(func() error { return serveUntil(ctx, listener, new(profiler)) })
		return parts.Wait()
	}
	return c
}

// profiler starts a CPU profile with a POST, and ends it and hands it out with a GET.
type profiler struct{ profile bytes.Buffer }

func (p *profiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.profile.Reset()
		if err := pprof.StartCPUProfile(&p.profile); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
		return
	}
	pprof.StopCPUProfile()
	_, _ = w.Write(p.profile.Bytes()) // who has gone does not want it
}

// profiles are the files that a server's profiles are written to.
type profiles struct{ dir, url string }

// begin starts a profile, which ends with the function that is returned.
func (p profiles) begin(ctx context.Context, name string) (end func() error, _ error) {
	if _, err := p.ask(ctx, http.MethodPost); err != nil {
		return nil, err
	}
	return func() error {
		profile, err := p.ask(context.WithoutCancel(ctx), http.MethodGet)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(p.dir, name+".prof"), profile, 0o644)
	}, nil
}

func (p profiles) ask(ctx context.Context, method string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile the server: %s: %s", response.Status, answer)
	}
	return answer, err
}
