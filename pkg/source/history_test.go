package source

import (
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// What was read between two snapshots is handed over once, in order, and never
// across a new sandbox.
func TestEarlierFrames(t *testing.T) {
	h := history{window: 3 * time.Second}
	add := func(seq uint64, sandbox string) {
		h.addFrame(parse.Frame{Seq: seq, Uptime: model.Known(float64(100 + seq))}, sandbox, time.Unix(int64(seq), 0))
	}
	earlier := func() (seqs []uint64) {
		var p model.Pod
		h.fill(&p)
		for _, e := range p.Earlier {
			seqs = append(seqs, e.Sample.Seq)
		}
		return seqs
	}
	for seq := range uint64(12) {
		add(seq, "a")
	}
	if got := earlier(); len(got) != 11 || got[0] != 0 || got[10] != 10 {
		t.Errorf("after twelve frames the earlier ones are %v", got)
	}
	if got := earlier(); len(got) != 0 {
		t.Errorf("without a new frame: %v", got)
	}
	add(12, "a")
	if got := earlier(); len(got) != 0 {
		t.Errorf("after one frame: %v", got)
	}
	add(13, "a")
	add(14, "b")
	if got := earlier(); len(got) != 0 {
		t.Errorf("after a new sandbox: %v", got)
	}
	for seq := range uint64(200) {
		add(100+seq, "b")
	}
	if got := earlier(); len(got) != mostEarlier-1 {
		t.Errorf("%d frames are kept, want %d", len(got), mostEarlier-1)
	}
}
