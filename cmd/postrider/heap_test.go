package main

import "testing"

func TestSpareHeapLeavesTheOperatorsChoice(t *testing.T) {
	t.Parallel()
	if n := len(spareHeap(process{environ: []string{"GOGCX=1"}})); n != spareBytes {
		t.Errorf("%d bytes", n)
	}
	for _, setting := range []string{"GOGC=50", "GOMEMLIMIT=100MiB"} {
		if n := len(spareHeap(process{environ: []string{setting}})); n != 0 {
			t.Errorf("%s: %d bytes", setting, n)
		}
	}
}
