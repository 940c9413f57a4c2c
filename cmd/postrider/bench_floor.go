package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"postrider/cmd/postrider/bench"
)

// newBenchFloor is the process beside the server that a bench starts. It is not for people.
func newBenchFloor(p process) *cobra.Command {
	var listen string
	c := &cobra.Command{Use: "floor", Short: "Serve the floors of a bench", Hidden: true, Args: noArgs, Example: "  postrider bench floor"}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`HOST:PORT` to listen on")
	c.RunE = func(c *cobra.Command, _ []string) error {
		floor, err := bench.NewFloor()
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.err, "%s%s\n", listeningOn, listener.Addr())
		return serveUntil(c.Context(), listener, floor)
	}
	return c
}
