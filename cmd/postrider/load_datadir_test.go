//go:build load

package main

import "testing"

func TestLoadKilledServerFindsItsDataDir(t *testing.T) { killOnDataDir(t, 20) }
