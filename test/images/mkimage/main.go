// Command mkimage writes a container image from files of this machine, as an
// archive that containerd, docker and kind can load. No registry, no daemon and
// no root are needed, so the tests bring their own images.
//
//	mkimage -o tools.tar -tag docker.io/local/tools:1 -cmd /bin/sh \
//	        -busybox /bin/busybox /usr/bin/ss=usr/bin/ss /usr/bin/nstat=usr/bin/nstat
//
// The same files give the same bytes: entries are sorted and carry no times.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/test/images/mkimage/image"
)

func main() {
	err := run(os.Args[1:], os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintf(os.Stderr, "mkimage: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("mkimage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "usage: mkimage -o OUT.tar -tag NAME [flags] SRC=DST...\n"+
			"SRC is a file (links are followed) or a folder, DST its path in the image.\n")
		flags.PrintDefaults()
	}
	out := flags.String("o", "", "archive to write (required)")
	tag := flags.String("tag", "", "name of the image, such as docker.io/local/tools:1 (required)")
	cmd := flags.String("cmd", "", "command of the image, split at blanks")
	user := flags.String("user", "", "user of the image, as UID or UID:GID; root when empty")
	busybox := flags.String("busybox", "", "a static busybox: becomes /bin/busybox, with a link for each of its applets")
	noLibs := flags.Bool("no-libs", false, "do not bring the libraries that ELF files need")
	var env []string
	flags.Func("env", "NAME=VALUE in the environment of the image; may be repeated", func(s string) error {
		if !strings.Contains(s, "=") {
			return fmt.Errorf("want NAME=VALUE, got %q", s)
		}
		env = append(env, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || *tag == "" {
		return errors.New("-o and -tag are required (see mkimage -h)")
	}

	var tree image.Tree
	for _, arg := range flags.Args() {
		src, dst, ok := strings.Cut(arg, "=")
		if !ok || src == "" || dst == "" {
			return fmt.Errorf("want SRC=DST, got %q", arg)
		}
		if err := tree.Add(src, dst); err != nil {
			return fmt.Errorf("adding %s: %w", src, err)
		}
	}
	if *busybox != "" {
		if err := tree.AddBusybox(*busybox); err != nil {
			return fmt.Errorf("adding busybox: %w", err)
		}
	}
	if !*noLibs {
		if err := tree.AddLibraries(); err != nil {
			return fmt.Errorf("adding libraries: %w", err)
		}
	}
	config := image.Config{Tag: *tag, Cmd: strings.Fields(*cmd), User: *user, Env: env}
	if err := image.Write(*out, &tree, config); err != nil {
		return fmt.Errorf("writing %s: %w", *out, err)
	}
	return nil
}
