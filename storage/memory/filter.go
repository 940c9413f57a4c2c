package memory

// page bounds how far ahead one lease looks for messages that match.
type page struct{ first, looked, matched int }

// How many messages a lease looks at that is for few, and how many more when none of those matches.
const (
	pageFirst = 100
	pageRest  = 1000
)

func newPage(limit int) page { return page{first: min(max(limit, pageFirst), stepMax)} }

// over tells whether the lease looks at no more.
func (p *page) over() bool {
	return p.looked == p.first && p.matched > 0 || p.looked == p.first+pageRest || p.matched == stepMax
}

// pass moves the cursor over a message that does not match.
func (st *state) pass(e entry) {
	st.lost += e.at.n - st.cursor.n - 1
	st.filtered++
	st.cursor = e.at
}
