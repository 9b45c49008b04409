package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPicture(t *testing.T) {
	in := "plain \x1b[1;38;5;203mred & <bold>\x1b[0m  \x1b[48;2;1;2;3mblock \x1b[0m   \n\x1b[7mreverse\x1b[27m and \x1b[31mbasic\n still basic\x1b[m\x1b[?25l\x1b(B\n\n"
	var out strings.Builder
	if err := run([]string{"-title", `a "title"`}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`>plain </text>`, `fill="#ff5f5f" font-weight="bold"`, `>red &amp; &lt;bold&gt;</text>`, `fill="#010203"`, `>reverse</text>`,
		`fill="#cd3131" textLength="42.0">basic</text>`, `fill="#cd3131" textLength="100.8"> still basic</text>`, `aria-label="a &#34;title&#34;"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	for d := xml.NewDecoder(strings.NewReader(out.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, in := range []string{"", "\n\n", strings.Repeat("x\n", maxLines+1)} {
		if err := run(nil, strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%.10q was drawn", in)
		}
	}
}

func FuzzReadLine(f *testing.F) {
	f.Add("a\x1b[38;5;1mb\x1b[")
	f.Fuzz(func(t *testing.T, line string) {
		for range 2 {
			_, _ = readLine(line, style{})
		}
	})
}
