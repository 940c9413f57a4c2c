//go:build !unix

package bench

import "time"

// ownCPU is not known here.
var ownCPU func() (time.Duration, error)
