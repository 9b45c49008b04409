package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// write writes the tree as an image and reads the archive back: its
// configuration, and its files as "mode type path [-> link]" with contents.
func write(t *testing.T, tree *Tree, config Config) (archive []byte, listing []string, contents map[string]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := Write(out, tree, config); err != nil {
		t.Fatalf("Write: %v", err)
	}
	archive, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(config.Tag)
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(out, &tag)
	if err != nil {
		t.Fatalf("reading the archive back by its tag: %v", err)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers = %d, %v, want one", len(layers), err)
	}
	data, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	contents = map[string]string{}
	for r := tar.NewReader(data); ; {
		h, err := r.Next()
		if err == io.EOF {
			return archive, listing, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: uid %d, gid %d, time %v, want root and no time", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		contents[h.Name] = string(body)
		line := h.FileInfo().Mode().String() + " " + h.Name
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		listing = append(listing, line)
	}
}

// file writes a file to a folder of the test.
func file(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func add(t *testing.T, tree *Tree, src, dst string) {
	t.Helper()
	if err := tree.Add(src, dst); err != nil {
		t.Fatalf("Add(%s, %s): %v", src, dst, err)
	}
}

func TestImageHoldsFilesFoldersAndRuntimeFolders(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "sub", "page"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/page", filepath.Join(folder, "index")); err != nil {
		t.Fatal(err)
	}
	var tree Tree
	add(t, &tree, file(t, 0o700, "#!/bin/sh\n"), "/usr/bin/run")
	add(t, &tree, folder, "srv")

	_, got, contents := write(t, &tree, Config{Tag: "docker.io/local/x:1"})
	want := []string{
		"drwxr-xr-x dev/",
		"drwxr-xr-x etc/",
		"drwxr-xr-x proc/",
		"drwxr-xr-x srv/",
		"-rw-r--r-- srv/index",
		"drwxr-xr-x srv/sub/",
		"-rw-r--r-- srv/sub/page",
		"drwxr-xr-x sys/",
		"dtrwxrwxrwx tmp/",
		"drwxr-xr-x usr/",
		"drwxr-xr-x usr/bin/",
		"-rwxr-xr-x usr/bin/run",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if contents["srv/index"] != "hello" || contents["srv/sub/page"] != "hello" {
		t.Errorf("contents = %q, want the linked file's bytes twice", contents)
	}
}

func TestConfigSaysHowTheImageRuns(t *testing.T) {
	tree := Tree{}
	out := filepath.Join(t.TempDir(), "image.tar")
	config := Config{Tag: "docker.io/local/x:1", Cmd: []string{"/bin/sh", "-c", "x"}, User: "65534:65534", Env: []string{"A=b"}}
	if err := Write(out, &tree, config); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got.OS != "linux" || got.Architecture != runtime.GOARCH {
		t.Errorf("platform = %s/%s, want linux/%s", got.OS, got.Architecture, runtime.GOARCH)
	}
	if got.Config.User != config.User || !reflect.DeepEqual(got.Config.Cmd, config.Cmd) {
		t.Errorf("user %q, cmd %q", got.Config.User, got.Config.Cmd)
	}
	if want := []string{defaultPath, "A=b"}; !reflect.DeepEqual(got.Config.Env, want) {
		t.Errorf("env = %q, want %q", got.Config.Env, want)
	}
}

func TestSameFilesGiveSameBytes(t *testing.T) {
	build := func(mode os.FileMode) []byte {
		var tree Tree
		add(t, &tree, file(t, mode, "one"), "a/one")
		add(t, &tree, file(t, mode, "two"), "b/two")
		archive, _, _ := write(t, &tree, Config{Tag: "docker.io/local/x:1"})
		return archive
	}
	if !bytes.Equal(build(0o644), build(0o600)) {
		t.Error("two images of the same files differ")
	}
}

func TestLibrariesComeWithDynamicPrograms(t *testing.T) {
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("this machine has no /bin/sh")
	}
	if dynamic, err := isDynamic(sh); err != nil || !dynamic {
		t.Skipf("%s is not a dynamic ELF file here (%v)", sh, err)
	}
	if _, err := exec.LookPath("ldd"); err != nil {
		t.Skip("this machine has no ldd")
	}
	var tree Tree
	add(t, &tree, sh, "bin/sh")
	add(t, &tree, file(t, 0o755, "#!/bin/sh\n"), "bin/script")
	if err := tree.AddLibraries(); err != nil {
		t.Fatal(err)
	}
	// The proof of a complete image: the program starts with nothing but it.
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	root := t.TempDir()
	for dst, e := range tree.entries {
		name := filepath.Join(root, dst)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(e.source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("chroot", root, "/bin/sh", "-c", "echo started").CombinedOutput()
	if err != nil || string(out) != "started\n" {
		t.Errorf("chroot: %v: %s", err, out)
	}
}

func TestBusyboxLinksLeaveRealProgramsAlone(t *testing.T) {
	busybox := file(t, 0o755, "#!/bin/sh\nprintf 'cat\\nls\\nbusybox\\n'\n")
	var tree Tree
	add(t, &tree, file(t, 0o755, "real"), "bin/ls")
	if err := tree.AddBusybox(busybox); err != nil {
		t.Fatal(err)
	}
	_, got, contents := write(t, &tree, Config{Tag: "docker.io/local/x:1"})
	if contents["bin/ls"] != "real" {
		t.Errorf("bin/ls = %q, want the program that was added first", contents["bin/ls"])
	}
	if want := "Lrwxrwxrwx bin/cat -> /bin/busybox"; !strings.Contains(strings.Join(got, "\n"), want) {
		t.Errorf("files = %q, want %q among them", got, want)
	}
	if strings.Contains(strings.Join(got, "\n"), "busybox -> /bin/busybox") {
		t.Error("busybox is a link to itself")
	}
}

func TestParseLdd(t *testing.T) {
	const out = `	linux-vdso.so.1 (0x00007ffd1e5f2000)
	libmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x00007f0a8c9c9000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0a8c7e8000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f0a8c9f7000)
`
	want := []string{"/lib/x86_64-linux-gnu/libmnl.so.0", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}
	got, err := parseLdd("ss", out)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseLdd = %q, %v, want %q", got, err, want)
	}
	_, err = parseLdd("ss", "\tlibmnl.so.0 => not found\n")
	if err == nil || !strings.Contains(err.Error(), "libmnl.so.0") {
		t.Errorf("err = %v, want one that names the missing library", err)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	one, two := file(t, 0o644, "one"), file(t, 0o644, "two")
	for name, c := range map[string]struct {
		build func(*Tree) error
		tag   string
		want  string
	}{
		"no such file":      {func(tree *Tree) error { return tree.Add("/no/such", "x") }, "x:1", "/no/such"},
		"device":            {func(tree *Tree) error { return tree.Add("/dev/null", "x") }, "x:1", "not a regular file"},
		"empty destination": {func(tree *Tree) error { return tree.Add(one, "/") }, "x:1", "empty"},
		"two for one path": {func(tree *Tree) error {
			return firstError(tree.Add(one, "x"), tree.Add(two, "/y/../x"))
		}, "x:1", "taken"},
		"file and folder": {func(tree *Tree) error {
			return firstError(tree.Add(one, "x"), tree.Add(two, "x/y"))
		}, "x:1", "folder"},
		"bad tag": {func(*Tree) error { return nil }, "Not A Tag", "image name"},
	} {
		t.Run(name, func(t *testing.T) {
			var tree Tree
			out := filepath.Join(t.TempDir(), "image.tar")
			err := c.build(&tree)
			if err == nil {
				err = Write(out, &tree, Config{Tag: c.tag})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one with %q", err, c.want)
			}
			if left, _ := os.ReadDir(filepath.Dir(out)); len(left) > 0 {
				t.Errorf("%v is left behind", left)
			}
		})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
