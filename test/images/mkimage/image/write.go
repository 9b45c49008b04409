package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Config is what an image says about itself.
type Config struct {
	Tag  string   // name, with or without registry: docker.io/local/tools:1
	Cmd  []string // what runs when a pod names no command
	User string   // UID or UID:GID; root when empty
	Env  []string // NAME=VALUE; PATH is set when it is not among them
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Write writes the image as one archive. The file appears under its name only
// when it is complete.
func Write(out string, tree *Tree, config Config) (err error) {
	tag, err := name.NewTag(config.Tag)
	if err != nil {
		return fmt.Errorf("reading the image name: %w", err)
	}
	layer, err := tree.layer()
	if err != nil {
		return err
	}
	img, err := assemble(layer, config)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if err := tarball.Write(tag, img, tmp); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), out)
}

func assemble(layer []byte, config Config) (v1.Image, error) {
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("building the layer: %w", err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return nil, fmt.Errorf("appending the layer: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS = "linux"
	file.Architecture = runtime.GOARCH // the files are this machine's
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config.Cmd = config.Cmd
	file.Config.User = config.User
	file.Config.Env = config.Env
	if !slices.ContainsFunc(config.Env, func(s string) bool { return strings.HasPrefix(s, "PATH=") }) {
		file.Config.Env = append([]string{defaultPath}, config.Env...)
	}
	return mutate.ConfigFile(img, file)
}

// layer packs the tree, sorted, with each folder before what is in it. The
// folders that a runtime mounts over are always there: without them a
// container with a read-only root file system cannot start.
func (t *Tree) layer() ([]byte, error) {
	folders := map[string]fs.FileMode{"dev": 0o755, "etc": 0o755, "proc": 0o755, "sys": 0o755, "tmp": 0o1777}
	for name := range t.entries {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := folders[dir]; !ok {
				folders[dir] = 0o755
			}
		}
	}
	names := slices.Collect(maps.Keys(folders))
	for name, e := range t.entries {
		if _, both := folders[name]; both {
			return nil, fmt.Errorf("/%s would be a folder and %s", name, e.source+e.link)
		}
		names = append(names, name)
	}
	slices.Sort(names)

	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range names {
		var err error
		if mode, ok := folders[name]; ok {
			err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(mode)})
		} else if e := t.entries[name]; e.link != "" {
			err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: e.link, Mode: 0o777})
		} else {
			err = packFile(w, name, e.source)
		}
		if err != nil {
			return nil, fmt.Errorf("packing /%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func packFile(w *tar.Writer, name, source string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	// Only "may be executed" is kept of the mode: umask and owner differ from
	// machine to machine, and a container's user is rarely this file's owner.
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
