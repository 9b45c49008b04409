package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunWritesTheArchive(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "data")
	if err := os.WriteFile(src, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.tar")
	args := []string{"-o", out, "-tag", "docker.io/local/x:1", "-cmd", "/bin/sleep 5", "-user", "65534", "-env", "A=b=c", src + "=srv/data"}
	if err := run(args, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Cmd":["/bin/sleep","5"]`, `"User":"65534"`, `"A=b=c"`, `docker.io/local/x:1`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("archive has no %s", want)
		}
	}
}

func TestRunRefusesWhatItCannotDo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.tar")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-tag", "x:1"}, "-o and -tag"},
		{[]string{"-o", out, "-tag", "x:1", "no-destination"}, "SRC=DST"},
		{[]string{"-o", out, "-tag", "x:1", "/no/such=x"}, "adding /no/such"},
		{[]string{"-o", out, "-tag", "x:1", "-env", "A"}, "NAME=VALUE"},
		{[]string{"-o", out, "-tag", "x:1", "-busybox", "/no/such"}, "adding busybox"},
	} {
		err := run(c.args, new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("run(%q) = %v, want an error with %q", c.args, err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("run(%q) left an archive", c.args)
		}
	}
}
