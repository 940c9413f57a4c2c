package main

import "syscall"

// ownGroup keeps Ctrl-C, which the terminal sends to the whole group, from ending the child before we have drained, and lets
// the kernel end it when we are killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
