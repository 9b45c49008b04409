package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// maxLines bounds the picture.
const maxLines = 200

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("screenshots", flag.ContinueOnError)
	title := flags.String("title", "", "what stands in the window's title")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var lines [][]span
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	style := style{}
	for scanner.Scan() {
		if len(lines) == maxLines {
			return errors.New("more than 200 lines: is this a terminal?")
		}
		var spans []span
		spans, style = readLine(scanner.Text(), style)
		lines = append(lines, spans)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading the terminal's text: %w", err)
	}
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return errors.New("there is no text to draw")
	}
	w := bufio.NewWriter(out)
	writeSVG(w, *title, lines)
	return w.Flush()
}
