package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// onPhone makes the browser's window as wide as a phone's.
func (b *browser) onPhone() {
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: true})
}

// sideways are the elements that reach beyond the window, or hide something to their right.
const sideways = `[document.documentElement, ...document.querySelectorAll("main *")]
	.filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" || e.getBoundingClientRect().right > 390.5)
	.filter((e) => e.tagName !== "PRE" && !e.closest("pre") && !e.closest(".unseen")).map((e) => e.tagName + "." + e.className).join(" ")`

// heard is what a screen reader finds of a table: the roles of its parts in order, with what is said of each.
func (b *browser) heard() (parts []string) {
	b.Helper()
	tree := command(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.Trim(string(n.Role.Value), `"`)
		if slices.Contains([]string{"table", "row", "columnheader", "rowheader", "cell"}, role) {
			name := ""
			if n.Name != nil {
				name = strings.Trim(string(n.Name.Value), `"`)
			}
			parts = append(parts, role+" "+name)
		}
	}
	return parts
}

// TestPageFitsAPhone looks at the overview, and at a topic, where everything has long names.
func TestPageFitsAPhone(t *testing.T) {
	t.Parallel()
	a := startApp(t, nil)
	b, c := browse(t, a.URL()), client(t, a.Addr())
	long := strings.Repeat("a-long-name", 20)
	c.run("topics", "create", long, "--label", "owner="+strings.Repeat("w", 60))
	c.run("subscriptions", "create", "s"+long, "--topic", long, "--push-endpoint", "http://127.0.0.1:9/")
	c.run("topics", "create", "orders")
	for i := range 3 {
		c.run("subscriptions", "create", fmt.Sprint("billing-", i), "--topic", "orders")
	}
	c.run("publish", "orders", "hello")
	b.onPhone()
	b.open("/")
	b.until(`[...document.querySelectorAll("td.backlog")].filter((td) => td.textContent.trim() === "1").length === 3`)
	for _, path := range []string{"/", "/projects/demo/topics/" + long, "/projects/demo/topics/orders", "/projects/demo/subscriptions/s" + long} {
		b.open(path)
		if got := eval[string](b, sideways); got != "" {
			b.Errorf("%s: wider than the phone is %s", path, got)
		}
	}

	// It is a table still: with heads, of which each cell has one, and which sort when a key is pressed on them.
	b.open("/?q=billing")
	parts := b.heard()
	heads := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return !strings.HasPrefix(p, "columnheader ") })
	if got, want := strings.Join(heads, ", "), "columnheader Subscription, columnheader Topic, columnheader Delivery, columnheader Backlog, columnheader Oldest, "+
		"columnheader In/s, columnheader Out/s, columnheader Drains in, columnheader State"; got != want {
		b.Errorf("the heads are %s", got)
	}
	count := map[string]int{}
	for _, p := range parts {
		role, _, _ := strings.Cut(p, " ")
		count[role]++
	}
	if count["table"] != 1 || count["row"] != 4 || count["rowheader"] != 3 || count["cell"] != 3*8 {
		b.Errorf("a screen reader finds %v", count)
	}
	if !slices.Contains(parts, "rowheader billing-0") || !slices.Contains(parts, "cell 1") {
		b.Errorf("a screen reader hears %q", parts)
	}
	b.do(chromedp.Focus(`thead .name a`), chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("thead .name").ariaSort === "ascending"`)
	c.run("publish", "orders", "hello") // the focus stays while the page is updated
	b.until(`document.querySelector("tbody .backlog").textContent === "2"`)
	if on := eval[string](b, `document.activeElement.textContent`); on != "Subscription" {
		b.Fatalf("the focus is on %.100s", on)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector("thead .name").ariaSort === "descending" && document.querySelector("tbody th").textContent.trim() === "billing-2"`)
}
