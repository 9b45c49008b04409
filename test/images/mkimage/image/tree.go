// Package image builds small container images from files of this machine.
//
// A Tree is the root file system to be, as a set of paths; Write turns it into
// an archive with one layer. Everything is owned by root and carries no times,
// so the same files always give the same bytes.
package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// entry is a file (source set) or a symbolic link (link set) of the image.
type entry struct {
	source string
	link   string
}

// Tree is a root file system to be: files of this machine and symbolic links.
// The zero value is empty. What is added first wins over busybox and libraries.
type Tree struct {
	entries map[string]entry // by path in the image, relative and clean
}

// Add puts the file or folder src of this machine at dst. Links are followed.
// Adding two different things at one path is an error.
func (t *Tree) Add(src, dst string) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return t.addFile(src, dst)
	}
	return filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		return t.addFile(name, path.Join(dst, filepath.ToSlash(rel)))
	})
}

// AddBusybox puts the busybox at src to /bin/busybox and adds a link for each
// of its applets, except where the tree already has something in /bin.
func (t *Tree) AddBusybox(src string) error {
	out, err := exec.Command(src, "--list").Output()
	if err != nil {
		return fmt.Errorf("listing the applets of %s: %w", src, err)
	}
	if err := t.addFile(src, "bin/busybox"); err != nil {
		return err
	}
	for _, applet := range strings.Fields(string(out)) {
		dst := path.Join("bin", applet)
		if _, taken := t.entries[dst]; !taken {
			t.entries[dst] = entry{link: "/bin/busybox"}
		}
	}
	return nil
}

// AddLibraries adds the shared libraries and the loader that the ELF files of
// the tree need on this machine, at the paths where ldd finds them.
func (t *Tree) AddLibraries() error {
	var sources []string
	for _, e := range t.entries {
		if e.source != "" {
			sources = append(sources, e.source)
		}
	}
	for _, source := range sources {
		dynamic, err := isDynamic(source)
		if err != nil {
			return err
		}
		if !dynamic {
			continue
		}
		libraries, err := ldd(source)
		if err != nil {
			return err
		}
		for _, library := range libraries {
			if _, taken := t.entries[clean(library)]; taken {
				continue
			}
			if err := t.addFile(library, library); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tree) addFile(src, dst string) error {
	real, err := filepath.EvalSymlinks(src)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", src)
	}
	dst = clean(dst)
	if dst == "" {
		return errors.New("the path in the image is empty")
	}
	if old, taken := t.entries[dst]; taken && old.source != real {
		return fmt.Errorf("/%s is taken by %s", dst, old.source+old.link)
	}
	if t.entries == nil {
		t.entries = map[string]entry{}
	}
	t.entries[dst] = entry{source: real}
	return nil
}

// clean makes a path in the image relative to its root, which it cannot leave.
func clean(dst string) string {
	return strings.TrimPrefix(path.Clean("/"+dst), "/")
}

// isDynamic reports whether the file is an ELF file that a loader completes.
// Static programs, scripts and data are not; ldd would fail for them.
func isDynamic(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if n, _ := f.ReadAt(magic, 0); n < len(magic) || string(magic) != elf.ELFMAG {
		return false, nil
	}
	file, err := elf.NewFile(f)
	if err != nil {
		return false, fmt.Errorf("reading %s as an ELF file: %w", name, err)
	}
	// A static position-independent program has a dynamic section too, but it
	// needs no library and names no loader.
	needed, err := file.DynString(elf.DT_NEEDED)
	if err != nil {
		return false, fmt.Errorf("reading which libraries %s needs: %w", name, err)
	}
	if len(needed) > 0 {
		return true, nil
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return true, nil
		}
	}
	return false, nil
}

// ldd lists the libraries and the loader of a dynamic program.
func ldd(name string) ([]string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("ldd", name)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running ldd on %s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return parseLdd(name, string(out))
}

// parseLdd reads lines of three forms:
//
//	linux-vdso.so.1 (0x…)                             in no file, left out
//	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)
//	/lib64/ld-linux-x86-64.so.2 (0x…)                 the loader
func parseLdd(name, out string) ([]string, error) {
	var paths []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "=> not found") {
			return nil, fmt.Errorf("%s needs a library that this machine lacks: %s", name, strings.TrimSpace(line))
		}
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/") {
				paths = append(paths, word)
				break
			}
		}
	}
	return paths, nil
}
