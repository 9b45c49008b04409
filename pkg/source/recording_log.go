package source

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// recordedWindow is how far back rates reach in what was recorded as frames.
const recordedWindow = 10 * time.Second

// reasonNotRecorded is why a probe's log tells nothing of the rest.
const reasonNotRecorded = "the recording holds frames of a probe alone: neither the pod's spec nor its proxy's metrics"

// framesPod makes snapshots of one pod out of frames.
type framesPod struct {
	history history
	name    model.Meta
	seq     uint64
	first   model.Value[float64] // the pod's clock in the first frame
	missing string               // why the rest is unknown
	raw     bool                 // of the raw form, which has no threads
}

func newFramesPod(name string) *framesPod {
	return &framesPod{history: history{window: recordedWindow}, name: model.Meta{Name: name}, missing: reasonNotRecorded}
}

// add takes a frame in. Its time is what the recording says; where it does not, the
// pod's own clock is counted from the beginning of 1970.
func (f *framesPod) add(frame parse.Frame, at time.Time, sandbox string) model.Snapshot {
	if up, ok := frame.Uptime.Get(); ok && at.IsZero() {
		if !f.first.IsKnown() {
			f.first = frame.Uptime
		}
		at = time.Unix(0, int64((up-f.first.Or(0))*1e9)).UTC()
	}
	f.seq++
	f.history.addFrame(frame, sandbox, at)
	p := model.Pod{
		Meta: f.name, Ready: true, Phase: "Running",
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK},
		Runtime:    model.UnknownRuntime(f.missing),
		Manifest:   model.UnknownManifest(f.missing),
	}
	f.history.fill(&p)
	if f.raw && f.history.threads.last == nil {
		p.Process = model.UnknownProcess(f.missing)
	}
	for i := range p.Listeners {
		p.Listeners[i].Role = model.RoleApp
	}
	return model.Snapshot{Seq: f.seq, Time: at, Pods: []model.Pod{p}}
}

// logRecording is a probe's own log: `kubectl logs POD -c CONTAINER`, with or without
// --timestamps.
type logRecording struct {
	*lines
	pod     *framesPod
	text    []byte    // of the frame that is read
	stamp   time.Time // of its last line
	open    bool
	stamped bool
	frames  int
	close   func() error
}

// maxRecordedFrame bounds a frame, as a frame reader does.
const maxRecordedFrame = 4 << 20

func newLogRecording(in io.Reader, closer func() error, name string) *logRecording {
	return &logRecording{lines: newLines(in, name), pod: newFramesPod(name), close: closer}
}

// Next gives the snapshot of the next whole frame.
func (r *logRecording) Next() (model.Snapshot, error) {
	for {
		line, ok := r.next()
		if !ok {
			if r.open {
				r.notes = append(r.notes, r.name+" ends within a frame, which is left out")
				r.open = false
			}
			return model.Snapshot{}, io.EOF
		}
		line = r.unstamp(line)
		if bytes.HasPrefix(line, []byte("==backlog-frame/1 begin ")) {
			r.open, r.text = true, r.text[:0]
		}
		if !r.open {
			continue
		}
		if len(r.text)+len(line) > maxRecordedFrame {
			r.open = false
			continue
		}
		r.text = append(append(r.text, line...), '\n')
		if !bytes.HasPrefix(line, []byte("==backlog-frame/1 end ")) {
			continue
		}
		r.open = false
		frame, err := parse.NewFrameReader(bytes.NewReader(r.text)).Next()
		if err != nil {
			continue // damaged: the next one is another
		}
		return r.give(frame)
	}
}

func (r *logRecording) give(frame parse.Frame) (model.Snapshot, error) {
	if r.frames++; r.frames == 1 {
		r.notes = append(r.notes, reasonNotRecorded)
		if !r.stamped {
			r.notes = append(r.notes, "it has no times (kubectl logs --timestamps would give them): they are counted from 1970")
		}
	}
	at := time.Time{}
	if r.stamped {
		at = r.stamp
	}
	return r.pod.add(frame, at, "recorded"), nil
}

// unstamp takes the kubelet's time off a line.
func (r *logRecording) unstamp(line []byte) []byte {
	if len(line) < 21 || line[4] != '-' || line[10] != 'T' {
		return line
	}
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		stamp, rest = line, nil // an empty line of the log
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return line
	}
	r.stamp, r.stamped = at.UTC(), true
	return rest
}

// Notes say what it cannot tell.
func (r *logRecording) Notes() []string { return r.notes }

// Title is the file's name.
func (r *logRecording) Title() string { return r.name }

// Close closes the file.
func (r *logRecording) Close() error {
	if err := r.close(); err != nil {
		return fmt.Errorf("closing %s: %w", r.name, err)
	}
	return nil
}
