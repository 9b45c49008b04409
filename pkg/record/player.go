package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Player gives the snapshots of a recording one after the other. It is for one user at
// a time.
type Player struct {
	name   string
	header Header
	in     *bufio.Reader
	close  func() error
	fields map[string]*fieldCodec
	dec    *decoder

	line  int
	buf   []byte
	pods  map[string]*played
	order []string
	notes []string
	probs []string
	last  time.Time // of the tick that was given last
	ended bool      // the line that says so was read
	over  bool      // nothing more is read
	told  []string
}

// played is a pod as the lines so far have it.
type played struct {
	pod   model.Pod
	texts []model.RawText
	said  []said
}

// NewPlayer reads a recording from r; name is what errors and notes call it.
func NewPlayer(r io.Reader, name string) (*Player, error) {
	plain, err := decompressed(r, name)
	if err != nil {
		return nil, err
	}
	p := newPlayer(plain, name)
	return p, p.readHeader()
}

// newPlayer reads lines that need no header.
func newPlayer(r io.Reader, name string) *Player {
	p := &Player{
		name: name, in: bufio.NewReaderSize(r, 64<<10), dec: newDecoder(), pods: map[string]*played{},
		fields: map[string]*fieldCodec{}, close: func() error { return nil },
	}
	list := podFields()
	for i := range list {
		p.fields[list[i].name] = &list[i]
	}
	return p
}

// Header says what the recording is of.
func (p *Player) Header() Header { return p.header }

// Title is the header's.
func (p *Player) Title() string { return p.header.Title }

// Notes say what is wrong with the recording, as far as it was read: that it was cut
// off, or is damaged. What was read before that was given.
func (p *Player) Notes() []string { return p.told }

// Close closes the file behind the recording.
func (p *Player) Close() error { return p.close() }

// Next gives the next snapshot, io.EOF behind the last whole one. Its list of pods is
// its own; what the pods hold is shared and not to be changed.
func (p *Player) Next() (model.Snapshot, error) {
	for !p.over {
		line, err := p.read()
		if err != nil {
			p.finish(err)
			break
		}
		s, done, err := p.take(line)
		if err != nil {
			p.finish(fmt.Errorf("line %d: %w", p.line, err))
			break
		}
		if done {
			return s, nil
		}
	}
	return model.Snapshot{}, io.EOF
}

// finish notes why nothing more is read.
func (p *Player) finish(err error) {
	p.over = true
	upTo := "nothing of it was whole"
	if !p.last.IsZero() {
		upTo = "read up to " + p.last.UTC().Format("2006-01-02T15:04:05Z")
	}
	switch {
	case errors.Is(err, io.EOF) && p.ended:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.told = append(p.told, p.name+" has no end: it was cut off, or is still written; "+upTo)
	default:
		p.told = append(p.told, fmt.Sprintf("%s is damaged (%v); %s", p.name, err, upTo))
	}
}

// read gives the next line without its newline; one that has none was cut off.
func (p *Player) read() ([]byte, error) {
	p.buf = p.buf[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		if len(p.buf)+len(part) > maxLine {
			return nil, fmt.Errorf("line %d is longer than %d MiB", p.line+1, maxLine>>20)
		}
		if err == nil && len(p.buf) == 0 {
			p.line++
			return part[:len(part)-1], nil
		}
		p.buf = append(p.buf, part...)
		switch {
		case err == nil:
			p.line++
			return p.buf[:len(p.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(p.buf) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// take reads one line. done says that a tick is whole.
func (p *Player) take(line []byte) (s model.Snapshot, done bool, err error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return s, false, nil
	}
	p.dec.reset(line)
	d := p.dec
	var now *played
	err = d.object(func(name string) error {
		switch name {
		case "pod":
			return d.string(func(key string) { now = p.at(key) })
		case "full":
			return d.bool(func(full bool) {
				if full && now != nil {
					*now = played{}
				}
			})
		case "set":
			return p.set(now)
		case "unset":
			return p.unset(now)
		case "raw":
			return p.raw(now)
		case "texts":
			return p.texts(now)
		case "said":
			return p.said(now)
		case "tick":
			done = true
			return d.uint(64, func(n uint64) { s.Seq = n })
		case "time":
			return readTime(d, reflect.ValueOf(&s.Time).Elem())
		case "notes":
			return d.strings(&p.notes)
		case "problems":
			return d.strings(&p.probs)
		case "pods":
			return d.strings(&p.order)
		case "end":
			p.ended = true
		}
		return d.skip()
	})
	if err != nil || !done {
		return s, false, err
	}
	return p.tick(s), true, nil
}

// at is the pod of a key, made where it is not known. More pods than any cluster's
// screen has are a damaged file.
func (p *Player) at(key string) *played {
	now := p.pods[key]
	if now == nil && len(p.pods) < maxPods {
		now = &played{}
		p.pods[key] = now
	}
	return now
}

func (p *Player) set(now *played) error {
	return p.dec.object(func(name string) error {
		f := p.fields[name]
		if f == nil || now == nil {
			return p.dec.skip()
		}
		field := reflect.ValueOf(&now.pod).Elem().Field(f.index)
		// What is given already keeps what it has: slices and pointers are made anew.
		field.SetZero()
		return f.codec.read(p.dec, field)
	})
}

func (p *Player) unset(now *played) error {
	var names []string
	if err := p.dec.strings(&names); err != nil || now == nil {
		return err
	}
	for _, name := range names {
		if f := p.fields[name]; f != nil {
			reflect.ValueOf(&now.pod).Elem().Field(f.index).SetZero()
		}
	}
	return nil
}

func (p *Player) raw(now *played) error {
	if now == nil {
		return p.dec.skip()
	}
	now.texts = slices.Clone(now.texts)
	return p.dec.object(func(name string) error {
		return p.dec.string(func(text string) {
			i := slices.IndexFunc(now.texts, func(t model.RawText) bool { return t.Name == name })
			if i < 0 {
				now.texts = append(now.texts, model.RawText{Name: name})
				i = len(now.texts) - 1
			}
			now.texts[i].Text = text
		})
	})
}

// texts puts the texts into their order and drops those that are no more.
func (p *Player) texts(now *played) error {
	var names []string
	if err := p.dec.strings(&names); err != nil || now == nil {
		return err
	}
	before := now.texts
	now.texts = make([]model.RawText, 0, len(names))
	for _, name := range names {
		if i := slices.IndexFunc(before, func(t model.RawText) bool { return t.Name == name }); i >= 0 {
			now.texts = append(now.texts, before[i])
		}
	}
	return nil
}

func (p *Player) said(now *played) error {
	if now == nil {
		return p.dec.skip()
	}
	now.said = nil
	return p.dec.array(func() error {
		var v said
		err := p.dec.object(func(name string) error {
			switch name {
			case "class":
				return p.dec.string(func(s string) { v.Class = model.Class(s) })
			case "severity":
				return p.dec.string(func(s string) { v.Severity = model.Severity(s) })
			case "listener":
				return p.dec.string(func(s string) { v.Listener = s })
			case "sentence":
				return p.dec.string(func(s string) { v.Sentence = s })
			}
			return p.dec.skip()
		})
		now.said = append(now.said, v)
		return err
	})
}

// tick makes the snapshot.
func (p *Player) tick(s model.Snapshot) model.Snapshot {
	p.last = s.Time
	s.Notes, s.Problems = p.notes, p.probs
	s.Pods = make([]model.Pod, 0, len(p.order))
	for _, key := range p.order {
		if now := p.pods[key]; now != nil {
			pod := now.pod
			pod.Raw = now.texts
			s.Pods = append(s.Pods, pod)
		}
	}
	if len(p.pods) > len(p.order) {
		for key := range p.pods {
			if !slices.Contains(p.order, key) {
				delete(p.pods, key)
			}
		}
	}
	return s
}
