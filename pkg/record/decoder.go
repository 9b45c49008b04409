package record

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads one line.
type decoder struct {
	in    *jsontext.Decoder
	bytes bytes.Reader
	depth int
}

// maxDepth bounds how deep values may hold each other: a pod holds its earlier
// samples, and these none.
const maxDepth = 64

func newDecoder() *decoder {
	d := &decoder{}
	d.in = jsontext.NewDecoder(&d.bytes, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return d
}

func (d *decoder) reset(line []byte) {
	d.bytes.Reset(line)
	d.in.Reset(&d.bytes, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d.depth = 0
}

// wrong says that something else stands where a kind of value should.
func (d *decoder) wrong(want string) error {
	return fmt.Errorf("%s is not %s", d.in.StackPointer(), want)
}

func (d *decoder) skip() error { return d.in.SkipValue() }

// next reads a token of a kind.
func (d *decoder) next(kind jsontext.Kind, want string) (jsontext.Token, error) {
	t, err := d.in.ReadToken()
	if err != nil {
		return t, err
	}
	if t.Kind() != kind {
		return t, d.wrong(want)
	}
	return t, nil
}

// object calls member with the name of each; member reads the value.
func (d *decoder) object(member func(name string) error) error {
	if d.depth++; d.depth > maxDepth {
		return d.wrong("as flat as a recording is")
	}
	defer func() { d.depth-- }()
	if _, err := d.next('{', "an object"); err != nil {
		return err
	}
	for d.in.PeekKind() != '}' {
		t, err := d.in.ReadToken()
		if err != nil {
			return err
		}
		if err := member(t.String()); err != nil {
			return err
		}
	}
	_, err := d.in.ReadToken()
	return err
}

// array calls element for each, which reads it.
func (d *decoder) array(element func() error) error {
	if d.depth++; d.depth > maxDepth {
		return d.wrong("as flat as a recording is")
	}
	defer func() { d.depth-- }()
	if _, err := d.next('[', "a list"); err != nil {
		return err
	}
	for d.in.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.in.ReadToken()
	return err
}

func (d *decoder) string(set func(string)) error {
	t, err := d.next('"', "a text")
	if err != nil {
		return err
	}
	set(t.String())
	return nil
}

func (d *decoder) bool(set func(bool)) error {
	t, err := d.in.ReadToken()
	switch {
	case err != nil:
		return err
	case t.Kind() != 't' && t.Kind() != 'f':
		return d.wrong("true or false")
	}
	set(t.Bool())
	return nil
}

func (d *decoder) int(bits int, set func(int64)) error {
	t, err := d.next('0', "a whole number")
	if err != nil {
		return err
	}
	n, err := t.Int()
	if err != nil || bits < 64 && n>>(bits-1) != 0 && n>>(bits-1) != -1 {
		return d.wrong("a whole number that fits")
	}
	set(n)
	return nil
}

func (d *decoder) uint(bits int, set func(uint64)) error {
	t, err := d.next('0', "a whole number")
	if err != nil {
		return err
	}
	n, err := t.Uint()
	if err != nil || bits < 64 && n>>bits != 0 {
		return d.wrong("a whole number that fits")
	}
	set(n)
	return nil
}

func (d *decoder) float(set func(float64)) error {
	t, err := d.in.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case '0':
		f, err := t.Float()
		if err != nil {
			return d.wrong("a number that fits")
		}
		set(f)
		return nil
	case '"':
		switch t.String() {
		case "NaN":
			set(math.NaN())
			return nil
		case "Inf":
			set(math.Inf(1))
			return nil
		case "-Inf":
			set(math.Inf(-1))
			return nil
		}
	}
	return d.wrong("a number")
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return keys
}

// strings reads a list of texts.
func (d *decoder) strings(into *[]string) error {
	var list []string
	err := d.array(func() error { return d.string(func(s string) { list = append(list, s) }) })
	if err == nil {
		*into = list
	}
	return err
}
