package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFile(t *testing.T) {
	for _, name := range []string{"a.jsonl.gz", "a.jsonl"} {
		path := filepath.Join(t.TempDir(), name)
		f, err := Create(path, FileOptions{Header: Header{Title: "shop"}})
		if err != nil {
			t.Fatal(err)
		}
		want := history()
		for _, s := range want {
			if err := f.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		// A program that is killed now loses a few seconds.
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, p); len(got) < len(want)-4 {
			t.Errorf("%s: %d ticks are on the disk", name, len(got))
		}
		_ = p.Close()
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if p, err = Open(path); err != nil {
			t.Fatal(err)
		}
		equal(t, want, readAll(t, p))
		if len(p.Notes()) != 0 || f.Ticks() != len(want) {
			t.Errorf("%s: notes %v, %d ticks", name, p.Notes(), f.Ticks())
		}
		_ = p.Close()
		info, err := os.Stat(path)
		if err != nil || info.Size() != f.Size() || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %d bytes counted", name, info, f.Size())
		}
	}
}

func TestBounds(t *testing.T) {
	for name, o := range map[string]FileOptions{
		"age":  {MaxAge: 20 * time.Second},
		"size": {MaxBytes: 3000},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl.gz")
		f, err := Create(path, o)
		if err != nil {
			t.Fatal(err)
		}
		var full *FullError
		for _, s := range history() {
			if err := f.Add(s); err != nil && !errors.As(err, &full) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if full == nil {
			t.Errorf("%s: it is not full", name)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, p)
		if len(p.Notes()) != 0 || len(got) == 0 || len(got) > 100 {
			t.Errorf("%s: %d ticks, %v", name, len(got), p.Notes())
		}
		_ = p.Close()
	}
}

// full is a disk with room for so many bytes.
type full struct{ room int }

func (d *full) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// A disk that fills up is told once and again, and nothing is written any more.
func TestFullDisk(t *testing.T) {
	w, err := NewWriter(&full{room: 20_000}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, s := range history() {
		if err := w.Add(s); err != nil {
			if failed != nil && err.Error() != failed.Error() {
				t.Errorf("%v, then %v", failed, err)
			}
			failed = err
		} else if failed != nil {
			t.Error("it goes on")
		}
	}
	if !errors.Is(failed, syscall.ENOSPC) {
		t.Errorf("%v", failed)
	}
	if _, err := Create("/dev/full", FileOptions{}); err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("%v", err)
	}
}

func TestFlight(t *testing.T) {
	dir := t.TempDir()
	now := noon
	o := FlightOptions{Header: Header{Title: "shop"}, MaxBytes: 40_000, Now: func() time.Time { return now }}
	f, err := StartFlight(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for n := 1; n <= 1200; n++ {
		now = noon.Add(time.Duration(n) * time.Second)
		s := tickOf(n, 2)
		s.Pods[1].Raw[0].Text = fmt.Sprint(n*n*n, n*n*7919) // something that does not compress
		if err := f.Add(s); err != nil {
			t.Fatal(err)
		}
		last = n
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	if size := sizeOf(t, dir); size > o.MaxBytes {
		t.Errorf("%d bytes", size)
	}
	p, err := Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, p)
	if p.Header().Title != "shop" || len(got) < 100 || len(got) >= last || got[len(got)-1].Seq != uint64(last) {
		t.Fatalf("%d ticks, of %q; %v", len(got), p.Header().Title, p.Notes())
	}
	for i, s := range got { // no gap, nothing twice
		if i%50 == 0 {
			equal(t, tickOf(int(s.Seq), 2).Pods[0], s.Pods[0])
		}
		if want := uint64(last - len(got) + 1 + i); s.Seq != want {
			t.Fatalf("tick %d in the place of %d", s.Seq, want)
		}
	}
	_ = p.Close()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	// Runs that are over make room for the next ones; one that may still run stays.
	now = time.Now().Add(time.Hour)
	second, err := StartFlight(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the first run is still there: %v", err)
	}
	now = time.Now().Add(time.Second)
	third, err := StartFlight(dir, FlightOptions{MaxBytes: 1, Now: o.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(second.Path()); err != nil {
		t.Errorf("a run that goes on was removed: %v", err)
	}
	if err := errors.Join(second.Close(), third.Close()); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "without recordings") {
		t.Errorf("%v", err)
	}
}

func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func TestTape(t *testing.T) {
	tape := NewTape(TapeOptions{Reach: 60 * time.Second})
	if p, err := tape.Seek(noon); err != nil {
		t.Fatal(err)
	} else if _, err := p.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	all := history()
	for i := range all {
		for j := range all[i].Pods {
			all[i].Pods[j].Raw = nil // a tape has none
		}
	}
	for n, s := range all {
		tape.Add(s)
		if n%17 != 0 {
			continue
		}
		// Looking back while it is written.
		p, err := tape.Seek(s.Time.Add(-10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, p)
		if len(got) == 0 || got[0].Time.After(s.Time.Add(-10*time.Second)) && got[0].Seq != 1 {
			t.Fatalf("from %d on of %d", got[0].Seq, s.Seq)
		}
		equal(t, all[n-len(got)+1:n+1], got)
	}
	from, to := tape.Span()
	if !to.Equal(all[len(all)-1].Time) || to.Sub(from) < time.Minute || to.Sub(from) > 91*time.Second {
		t.Errorf("from %s to %s", from, to)
	}
}
