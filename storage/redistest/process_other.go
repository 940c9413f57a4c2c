//go:build !linux

package redistest

import "syscall"

// dieWithParent can do nothing here: only Linux has Pdeathsig. The child stays in the terminal's process group, so that an
// interrupt reaches it, and Wrap ends the shared server; a killed test binary leaves its servers behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
