//go:build !linux

package main

import "syscall"

// ownGroup leaves the child in the terminal's group: only Linux can end it when we are killed, so Ctrl-C should reach it.
func ownGroup() *syscall.SysProcAttr { return nil }
