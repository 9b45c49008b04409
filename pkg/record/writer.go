package record

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Writer writes a recording's lines. It is for one user at a time.
type Writer struct {
	out    io.Writer
	noRaw  bool
	fields []fieldCodec
	begun  bool
	key    time.Time // when all pods were written whole
	pods   map[string]*written
	order  []string // of the pods of the tick before
	notes  []string
	probs  []string
	line   []byte
	value  []byte
	tick   uint64
	err    error
}

// written is what the lines before say of a pod.
type written struct {
	tick   uint64
	fields [][]byte
	texts  []model.RawText
	said   []said
}

// said is a verdict as it was at the time.
type said struct {
	Class    model.Class    `json:"class"`
	Severity model.Severity `json:"severity"`
	Listener string         `json:"listener,omitempty"`
	Sentence string         `json:"sentence"`
}

// podFields are the fields of a pod that stand in "set". The environment of a proxy
// may hold what is nobody's business; raw texts and verdicts have their own place.
func podFields() []fieldCodec {
	c := newCodec(map[reflect.Type][]string{
		reflect.TypeFor[model.Pod]():   {"Raw", "Verdicts"},
		reflect.TypeFor[model.Proxy](): {"Env"},
	})
	return c.fields(reflect.TypeFor[model.Pod]())
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := newWriter(w)
	b := appendString(append(out.line[:0], `{"backlogRecording":1,"tool":`...), h.Tool)
	if !h.Started.IsZero() {
		b = append(h.Started.UTC().AppendFormat(append(b, `,"started":"`...), time.RFC3339Nano), '"')
	}
	b = appendString(append(b, `,"title":`...), h.Title)
	if h.Redacted {
		b = append(b, `,"redacted":true`...)
	}
	out.put(append(b, '}'))
	return out, out.err
}

// newWriter writes lines without a header.
func newWriter(w io.Writer) *Writer {
	return &Writer{out: w, fields: podFields(), pods: map[string]*written{}}
}

// restart writes everything whole with the next tick, as at the start.
func (w *Writer) restart() { w.begun = false }

// Add writes a tick. After an error every call gives the same one.
func (w *Writer) Add(s model.Snapshot) error {
	if w.err != nil {
		return w.err
	}
	full := !w.begun || s.Time.Sub(w.key) >= keyEvery || s.Time.Before(w.key)
	if full {
		w.begun, w.key = true, s.Time
		clear(w.pods)
	}
	w.tick++
	keys := make([]string, len(s.Pods))
	for i := range s.Pods {
		keys[i] = s.Pods[i].Key()
		w.pod(keys[i], &s.Pods[i])
	}
	w.end(s, keys, full)
	for key, p := range w.pods {
		if p.tick != w.tick {
			delete(w.pods, key) // should it come back, it is written whole
		}
	}
	return w.err
}

// pod writes what changed about a pod.
func (w *Writer) pod(key string, p *model.Pod) {
	before := w.pods[key]
	full := before == nil
	if full {
		before = &written{fields: make([][]byte, len(w.fields))}
		w.pods[key] = before
	}
	before.tick = w.tick
	b := appendString(append(w.line[:0], `{"pod":`...), key)
	if full {
		b = append(b, `,"full":true`...)
	}
	plain := len(b)
	b, unset := w.set(b, before, reflect.ValueOf(p).Elem())
	if len(unset) > 0 {
		b = appendStrings(append(b, `,"unset":`...), unset)
	}
	if !w.noRaw {
		b = w.raw(b, before, p.Raw)
	}
	b = w.said(b, before, p.Verdicts)
	w.line = b
	if full || len(b) > plain {
		w.put(append(b, '}'))
	}
}

// set appends the fields that differ from the pod's line before.
func (w *Writer) set(b []byte, before *written, v reflect.Value) ([]byte, []string) {
	var unset []string
	begun := false
	for i := range w.fields {
		f := &w.fields[i]
		field := v.Field(f.index)
		w.value = w.value[:0]
		if !f.codec.empty(field) {
			w.value = f.codec.write(append(w.value, ' '), field)[1:] // comma looks at the byte before
		}
		if string(w.value) == string(before.fields[i]) {
			continue
		}
		if len(w.value) == 0 {
			unset = append(unset, f.name)
		} else {
			if !begun {
				b, begun = append(b, `,"set":{`...), true
			}
			b = append(append(comma(b), f.key...), w.value...)
		}
		before.fields[i] = append(before.fields[i][:0], w.value...)
	}
	if begun {
		b = append(b, '}')
	}
	return b, unset
}

// raw appends the texts that differ.
func (w *Writer) raw(b []byte, before *written, texts []model.RawText) []byte {
	begun, same := false, len(texts) == len(before.texts)
	for i, t := range texts {
		same = same && t.Name == before.texts[i].Name
		at := slices.IndexFunc(before.texts, func(o model.RawText) bool { return o.Name == t.Name })
		if at >= 0 && before.texts[at].Text == t.Text {
			continue
		}
		if !begun {
			b, begun = append(b, `,"raw":{`...), true
		}
		b = appendString(append(appendString(comma(b), t.Name), ':'), t.Text)
	}
	if begun {
		b = append(b, '}')
	}
	if !same {
		names := make([]string, len(texts))
		for i, t := range texts {
			names[i] = t.Name
		}
		b = appendStrings(append(b, `,"texts":`...), names)
	}
	before.texts = texts
	return b
}

// said appends the verdicts where they are others than before.
func (w *Writer) said(b []byte, before *written, verdicts []model.Verdict) []byte {
	same := len(verdicts) == len(before.said)
	for i := 0; same && i < len(verdicts); i++ {
		o, v := before.said[i], &verdicts[i]
		same = o.Class == v.Class && o.Severity == v.Severity && o.Listener == v.Listener
	}
	if same {
		return b
	}
	before.said = before.said[:0]
	b = append(b, `,"said":[`...)
	for _, v := range verdicts {
		before.said = append(before.said, said{Class: v.Class, Severity: v.Severity, Listener: v.Listener})
		b = appendString(append(comma(b), `{"class":`...), string(v.Class))
		b = appendString(append(b, `,"severity":`...), string(v.Severity))
		b = appendString(append(b, `,"listener":`...), v.Listener)
		b = append(appendString(append(b, `,"sentence":`...), v.Sentence), '}')
	}
	return append(b, ']')
}

// end writes the line that ends a tick.
func (w *Writer) end(s model.Snapshot, keys []string, full bool) {
	b := strconv.AppendUint(append(w.line[:0], `{"tick":`...), s.Seq, 10)
	b = append(b, `,"time":"`...)
	b = append(s.Time.UTC().AppendFormat(b, time.RFC3339Nano), '"')
	if full {
		b = append(b, `,"key":true`...)
	}
	for _, list := range []struct {
		name   string
		before *[]string
		now    []string
	}{{"notes", &w.notes, s.Notes}, {"problems", &w.probs, s.Problems}, {"pods", &w.order, keys}} {
		if full || !slices.Equal(*list.before, list.now) {
			b = appendStrings(append(appendString(append(b, ','), list.name), ':'), list.now)
			*list.before = slices.Clone(list.now)
		}
	}
	w.line = b
	w.put(append(b, '}'))
}

// Close writes the line that says that nothing was cut off. It does not close what is
// written to.
func (w *Writer) Close(at time.Time) error {
	if w.err == nil {
		w.put(append(at.UTC().AppendFormat(append(w.line[:0], `{"end":"`...), time.RFC3339Nano), `"}`...))
	}
	return w.err
}

// put writes a line.
func (w *Writer) put(line []byte) {
	w.line = line
	if w.err != nil {
		return
	}
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		w.err = fmt.Errorf("writing a recording: %w", err)
	}
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for _, s := range list {
		b = appendString(comma(b), s)
	}
	return append(b, ']')
}
