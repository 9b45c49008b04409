package main

import (
	"context"
	"fmt"
	"time"
)

// idle watches one quiet pod on a real screen: what a screen costs that somebody left
// open. The probe and the API server's part are not in it.
func (b *bench) idle(ctx context.Context) error {
	few := *b
	few.pods = 1
	if err := few.start(ctx, podOf("fleet-0", proxy())); err != nil {
		return err
	}
	screen, err := few.openScreen(ctx)
	if err != nil {
		return err
	}
	defer screen.close()
	if err := screen.settled(ctx, 1); err != nil {
		return err
	}
	if err := sleep(ctx, 10*time.Second); err != nil {
		return err
	}
	for _, paused := range []bool{false, true} {
		what := "idle screen, one quiet pod"
		if paused {
			if err := screen.key(ctx, "p"); err != nil {
				return err
			}
			what = "  the same, paused"
		}
		cpu, err := cpuSeconds(screen.pid)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := sleep(ctx, time.Duration(b.seconds)*time.Second/2); err != nil {
			return err
		}
		last, err := cpuSeconds(screen.pid)
		if err != nil {
			return err
		}
		b.add(what, "under 1 % of a core", "%s", fmt.Sprintf("%.2f %%", 100*(last-cpu)/time.Since(begun).Seconds()))
	}
	return nil
}
