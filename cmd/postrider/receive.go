package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"
)

func newReceive(p process) *cobra.Command {
	var listen string
	var status int
	c := &cobra.Command{
		Use: "receive", Short: "Be a push endpoint that prints what it is sent", GroupID: groupClient, Args: noArgs,
		Example: `  postrider receive
  postrider receive --listen 127.0.0.1:9001 --status 503`,
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:9000", "`HOST:PORT` to listen on")
	c.Flags().IntVar(&status, "status", 204, "HTTP `STATUS` to answer, 200 to 599: 200, 201, 202 and 204 acknowledge, others refuse")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if status < 200 || status > 599 {
			return usagef("--status: %d is not in 200 to 599", status)
		}
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "waiting for pushes on http://%s\n", listener.Addr())
		return serveUntil(c.Context(), listener, receiver(func(push push) int {
			fmt.Fprintf(p.out, "%s -> %d\n", describe(push), status)
			return status
		}))
	}
	return c
}

// describe is a push on one line.
func describe(p push) string {
	text := printable(payload(p.Message.Data))
	if len(p.Message.Attributes) > 0 {
		text += " [" + printable(mapText(p.Message.Attributes)) + "]"
	}
	text += " (message " + p.Message.MessageID
	if p.DeliveryAttempt > 0 {
		text += fmt.Sprintf(", attempt %d", p.DeliveryAttempt)
	}
	return text + ")"
}
