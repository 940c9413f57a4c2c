//go:build unix && !linux

package child

import "syscall"

// attributes make a new group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// bind makes the group end with us, which the kernel does not do here.
func bind(group int) (release func(), _ error) { return watch(group) }
