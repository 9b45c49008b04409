package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tickOf is a snapshot of some pods in the n-th second; odd pods change.
func tickOf(n, pods int) model.Snapshot {
	s := model.Snapshot{Seq: uint64(n), Time: noon.Add(time.Duration(n) * time.Second), Notes: []string{"a note"}}
	for i := range pods {
		p := fullPod(i)
		p.Meta.UID = fmt.Sprintf("uid-%d", i)
		p.Proxy.Env, p.Earlier, p.Verdicts = nil, nil, nil
		p.Raw = []model.RawText{{Name: "ss", Text: fmt.Sprintf("rows of %d", i)}, {Name: "nstat", Text: "counters"}}
		if i%2 == 1 {
			p.Counters.ListenOverflows = model.Known(int64(n))
			p.Raw[1].Text = fmt.Sprintf("counters in second %d", n)
		}
		s.Pods = append(s.Pods, p)
	}
	return s
}

// history is a sequence in which pods come, go and change.
func history() []model.Snapshot {
	var list []model.Snapshot
	for n := 1; n <= 130; n++ {
		s := tickOf(n, 3)
		switch {
		case n == 20:
			s.Pods = s.Pods[1:]
		case n == 30:
			s.Pods[0].Notes, s.Pods[0].Listeners = nil, nil
			s.Notes = nil
		case n == 31:
			s.Problems = []string{"no pod x"}
			s.Pods[0].Raw = s.Pods[0].Raw[1:]
		case n == 32:
			s.Pods[0].Raw = append(s.Pods[0].Raw, model.RawText{Name: "waiting 80", Text: "who"})
		case n == 40:
			s.Pods = nil
		}
		list = append(list, s)
	}
	return list
}

func recorded(t testing.TB, list []model.Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Tool: "v1", Title: "prod/shop", Started: noon})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(t testing.TB, p *Player) []model.Snapshot {
	t.Helper()
	var list []model.Snapshot
	for {
		s, err := p.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
}

func TestRoundTrip(t *testing.T) {
	want := history()
	p, err := NewPlayer(bytes.NewReader(recorded(t, want)), "x")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, Header{Tool: "v1", Title: "prod/shop", Started: noon}, p.Header())
	equal(t, want, readAll(t, p))
	if len(p.Notes()) != 0 {
		t.Errorf("%v", p.Notes())
	}
}

// Verdicts and the proxy's environment are not read back: the former are judged anew,
// the latter may be nobody's business.
func TestWhatIsNotKept(t *testing.T) {
	s := tickOf(1, 1)
	s.Pods[0].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning, Sentence: "a sentence"}}
	s.Pods[0].Proxy.Env = map[string]model.Value[string]{"TOKEN": model.Known("secret")}
	text := recorded(t, []model.Snapshot{s, s})
	if bytes.Contains(text, []byte("secret")) {
		t.Error("the environment is in the file")
	}
	if n := bytes.Count(text, []byte("a sentence")); n != 1 {
		t.Errorf("what was said is there %d times", n)
	}
	p, _ := NewPlayer(bytes.NewReader(text), "x")
	if got := readAll(t, p); len(got[0].Pods[0].Verdicts) != 0 {
		t.Error("old verdicts came back")
	}
}

// A pod of which nothing changes costs no line.
func TestIdlePodsAreFree(t *testing.T) {
	same := tickOf(1, 1)
	lines := func(n int) int {
		var list []model.Snapshot
		for i := range n {
			s := same
			s.Time = noon.Add(time.Duration(i) * time.Second)
			list = append(list, s)
		}
		return bytes.Count(recorded(t, list), []byte("\n"))
	}
	if a, b := lines(2), lines(50); b-a != 48 {
		t.Errorf("%d lines for 48 more ticks", b-a)
	}
}

// What was given is not changed by what comes later.
func TestSnapshotsStay(t *testing.T) {
	p, err := NewPlayer(bytes.NewReader(recorded(t, history())), "x")
	if err != nil {
		t.Fatal(err)
	}
	first, _ := p.Next()
	readAll(t, p)
	equal(t, history()[0], first)
}

// A recording that was cut off anywhere gives all its whole ticks and says so.
func TestCutOff(t *testing.T) {
	want := history()[:10]
	text := recorded(t, want)
	for at := bytes.IndexByte(text, '\n') + 1; at < len(text); at += 97 {
		p, err := NewPlayer(bytes.NewReader(text[:at]), "x")
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		got := readAll(t, p)
		equal(t, want[:len(got)], got)
		if len(p.Notes()) != 1 || !strings.Contains(p.Notes()[0], "cut off") {
			t.Errorf("at %d: %v", at, p.Notes())
		}
	}
}

func TestDamage(t *testing.T) {
	text := recorded(t, history()[:10])
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(text)
	_ = z.Close()
	for name, c := range map[string]struct {
		text []byte
		want int
		note string
	}{
		"whole gzip":        {zipped.Bytes(), 10, ""},
		"gzip without tail": {zipped.Bytes()[:zipped.Len()-9], 10, "cut off"},
		"damaged checksum":  {append(bytes.Clone(zipped.Bytes()[:zipped.Len()-8]), 1, 2, 3, 4, 5, 6, 7, 8), 10, "damaged"},
		"a damaged line":    {bytes.Replace(text, []byte(`{"tick":6,`), []byte(`{"tick":"six",`), 1), 5, "read up to 2026-03-01T12:00:05Z"},
		"no JSON in it":     {bytes.Replace(text, []byte(`{"tick":6,`), []byte("\x00\xff{{{"), 1), 5, "is damaged"},
		"unknown lines":     {bytes.Replace(text, []byte(`{"tick":6,`), []byte("{\"later\":[1,{\"x\":2}]}\n\n{\"tick\":6,"), 1), 10, ""},
	} {
		p, err := NewPlayer(bytes.NewReader(c.text), "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := readAll(t, p)
		if notes := strings.Join(p.Notes(), "; "); len(got) != c.want || c.note == "" != (notes == "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %d ticks, notes %q", name, len(got), notes)
		}
	}
}

func TestNoRecording(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, "hello\n")
	_ = z.Close()
	for want, text := range map[string]string{
		"is empty":                         "",
		"looks like HTML":                  "<!DOCTYPE html>\n<html>",
		"`get -o json`":                    "{\n  \"apiVersion\": \"v1\"\n}\n",
		"no header":                        `{"t_ms":1,"ss":""}` + "\n",
		"binary":                           "\x7fELF\x00\x00\n",
		"is no recording":                  zipped.String(),
		"this program reads version 1":     `{"backlogRecording":2,"new":{}}` + "\n",
		"cut off before its first line":    zipped.String()[:5],
		"no header of a recording: a reco": `{"backlogRecording":"x"}` + "\n",
	} {
		_, err := NewPlayer(strings.NewReader(text), "file")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		var no *NotRecordingError
		var version *VersionError
		if !errors.As(err, &no) && !errors.As(err, &version) {
			t.Errorf("%q: %T", text, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestCut(t *testing.T) {
	src, err := NewPlayer(bytes.NewReader(recorded(t, history())), "x")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := Cut(&b, src, noon.Add(35*time.Second), noon.Add(70*time.Second))
	if err != nil || n != 36 {
		t.Fatalf("%d ticks: %v", n, err)
	}
	p, err := NewPlayer(&b, "y")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, history()[34:70], readAll(t, p))
}

func FuzzPlayer(f *testing.F) {
	f.Add(recorded(f, history()[:2]))
	f.Add([]byte("{\"backlogRecording\":1}\n{\"pod\":\"a\",\"set\":{\"listeners\":[{}]},\"unset\":[\"listeners\"],\"raw\":{\"a\":\"b\"},\"texts\":[\"c\"]}\n{\"tick\":1,\"pods\":[\"a\",\"a\"]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := NewPlayer(bytes.NewReader(text), "x")
		if err != nil {
			return
		}
		readAll(t, p)
	})
}
