package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"postrider/storage/redisstream"
)

// How often the bar is drawn, and how often a line is written where there is no terminal.
const (
	drawEvery = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// progressBar shows on a terminal how far something long has come, and elsewhere writes a line now and then. What is written to
// it is written above the bar.
type progressBar struct {
	w        io.Writer
	terminal bool
	unit     string                         // what is counted
	now      func() redisstream.ProgressNow // may be called at any time

	mu    sync.Mutex
	drawn bool
	stage string
	since time.Time // when the stage began
	begun int64     // messages that were done then
	said  time.Time // when the last line was written
}

// newProgressBar makes a bar on w, which is standard error: results alone go to standard output.
func newProgressBar(w io.Writer, now func() redisstream.ProgressNow) *progressBar {
	return &progressBar{w: w, terminal: isTerminal(w), unit: "messages", now: now}
}

// Write writes what is not the bar.
func (b *progressBar) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	return b.w.Write(text)
}

// start shows progress until it is stopped.
func (b *progressBar) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(drawEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.show(b.now(), time.Now())
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.erase()
	}
}

func (b *progressBar) erase() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

func (b *progressBar) show(now redisstream.ProgressNow, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Stage == "" {
		return
	}
	entered := now.Stage != b.stage
	if entered {
		b.stage, b.since, b.begun = now.Stage, at, now.MessagesDone
	}
	if b.terminal {
		b.erase()
		fmt.Fprint(b.w, b.text(now, at, b.width()))
		b.drawn = true
	} else if entered || at.Sub(b.said) >= lineEvery {
		b.said = at
		fmt.Fprintln(b.w, b.text(now, at, 0))
	}
}

func (b *progressBar) width() int {
	width, _, err := term.GetSize(int(b.w.(*os.File).Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width - 1
}

// barWidth is how wide the bar itself is.
const barWidth = 24

// text is one line, with a bar and cut off at a width if one is given.
func (b *progressBar) text(now redisstream.ProgressNow, at time.Time, width int) string {
	parts := []string{now.Stage}
	done := min(now.MessagesDone, now.Messages)
	if now.Messages > 0 && width > 0 {
		filled := int(done * barWidth / now.Messages)
		parts = append(parts, "["+strings.Repeat("#", filled)+strings.Repeat(".", barWidth-filled)+"]")
	}
	if now.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%d %%", done*100/now.Messages))
	}
	if now.Topics > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s topics", grouped(min(now.TopicsDone, now.Topics)), grouped(now.Topics)))
	}
	if now.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s %s", grouped(done), grouped(now.Messages), b.unit))
	}
	if rate := b.rate(now, at); rate > 0 {
		parts = append(parts, grouped(int64(rate))+" a second")
		if left := float64(now.Messages-done) / rate; left >= 1 {
			parts = append(parts, (time.Duration(left)*time.Second).String()+" left")
		}
	}
	line := strings.Join(parts, "  ")
	if width > 0 && len(line) > width {
		line = line[:width]
	}
	return line
}

// rate is how many messages a second were done since the stage began, once that means something.
func (b *progressBar) rate(now redisstream.ProgressNow, at time.Time) float64 {
	seconds := at.Sub(b.since).Seconds()
	if seconds < 1 {
		return 0
	}
	return float64(now.MessagesDone-b.begun) / seconds
}
