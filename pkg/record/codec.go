package record

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// codec writes the values of pkg/model as JSON and reads them again, all of them: the
// public form (encoding/json) leaves out why a value is unknown and what is nobody's
// business, and both are needed to judge a pod again. A field has the name of its JSON
// tag, or its own with a small first letter where that is "-". Zero fields are left
// out.
//
// A model.Value is its bare figure, null when it is unknown without a reason, and
// {"unknown":"why"} otherwise; a figure that is an object itself stands in
// {"known":…}.
//
// What it knows of a type is worked out once. It is for one user at a time.
type codec struct {
	types map[reflect.Type]*typeCodec
	skip  map[reflect.Type][]string // fields that are not written, by Go name
}

func newCodec(skip map[reflect.Type][]string) *codec {
	return &codec{types: map[reflect.Type]*typeCodec{}, skip: skip}
}

// typeCodec is how one type is written and read.
type typeCodec struct {
	write func(b []byte, v reflect.Value) []byte
	read  func(d *decoder, v reflect.Value) error
	empty func(v reflect.Value) bool
}

// fieldCodec is one field of a struct.
type fieldCodec struct {
	name  string
	key   []byte // "name": with its quotes and colon
	index int
	codec *typeCodec
}

// parted is what every *model.Value has.
type parted interface {
	Parts() (figure any, known *bool, reason *string)
}

func (c *codec) of(t reflect.Type) *typeCodec {
	if known := c.types[t]; known != nil {
		return known
	}
	tc := &typeCodec{empty: reflect.Value.IsZero}
	c.types[t] = tc // before its parts: Pod holds Pods
	switch {
	case t == reflect.TypeFor[time.Time]():
		tc.write, tc.read = writeTime, readTime
	case reflect.PointerTo(t).Implements(reflect.TypeFor[parted]()):
		c.value(tc, t)
	default:
		c.kind(tc, t)
	}
	return tc
}

// kind fills in the codec of a plain type.
func (c *codec) kind(tc *typeCodec, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		c.structure(tc, t)
	case reflect.Slice:
		c.slice(tc, t)
	case reflect.Map:
		c.stringMap(tc, t)
	case reflect.Pointer:
		inner := c.of(t.Elem())
		tc.write = func(b []byte, v reflect.Value) []byte { return inner.write(b, v.Elem()) }
		tc.read = func(d *decoder, v reflect.Value) error {
			v.Set(reflect.New(t.Elem()))
			return inner.read(d, v.Elem())
		}
	case reflect.String:
		tc.write = func(b []byte, v reflect.Value) []byte { return appendString(b, v.String()) }
		tc.read = func(d *decoder, v reflect.Value) error { return d.string(v.SetString) }
	case reflect.Bool:
		tc.write = func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
		tc.read = func(d *decoder, v reflect.Value) error { return d.bool(v.SetBool) }
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		tc.write = func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
		tc.read = func(d *decoder, v reflect.Value) error { return d.int(t.Bits(), v.SetInt) }
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		tc.write = func(b []byte, v reflect.Value) []byte { return strconv.AppendUint(b, v.Uint(), 10) }
		tc.read = func(d *decoder, v reflect.Value) error { return d.uint(t.Bits(), v.SetUint) }
	case reflect.Float64, reflect.Float32:
		tc.write = func(b []byte, v reflect.Value) []byte { return appendFloat(b, v.Float()) }
		tc.read = func(d *decoder, v reflect.Value) error { return d.float(v.SetFloat) }
	default:
		// No value of the model is of such a type; a test walks them all.
		tc.write = func(b []byte, _ reflect.Value) []byte { return append(b, "null"...) }
		tc.read = func(d *decoder, _ reflect.Value) error { return d.skip() }
	}
}

func (c *codec) structure(tc *typeCodec, t reflect.Type) {
	fields := c.fields(t)
	byName := make(map[string]*fieldCodec, len(fields))
	for i := range fields {
		byName[fields[i].name] = &fields[i]
	}
	tc.write = func(b []byte, v reflect.Value) []byte {
		b = append(b, '{')
		for i := range fields {
			f := &fields[i]
			field := v.Field(f.index)
			if f.codec.empty(field) {
				continue
			}
			b = f.codec.write(append(comma(b), f.key...), field)
		}
		return append(b, '}')
	}
	tc.read = func(d *decoder, v reflect.Value) error {
		return d.object(func(name string) error {
			f := byName[name]
			if f == nil {
				return d.skip() // of a later version of the same format
			}
			return f.codec.read(d, v.Field(f.index))
		})
	}
}

// fields are those of a struct that are written.
func (c *codec) fields(t reflect.Type) []fieldCodec {
	var fields []fieldCodec
next:
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		for _, name := range c.skip[t] {
			if name == f.Name {
				continue next
			}
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			first, size := utf8.DecodeRuneInString(f.Name)
			name = string(unicode.ToLower(first)) + f.Name[size:]
		}
		fields = append(fields, fieldCodec{name: name, key: append(appendString(nil, name), ':'), index: i, codec: c.of(f.Type)})
	}
	return fields
}

func (c *codec) slice(tc *typeCodec, t reflect.Type) {
	inner := c.of(t.Elem())
	tc.empty = func(v reflect.Value) bool { return v.Len() == 0 }
	tc.write = func(b []byte, v reflect.Value) []byte {
		b = append(b, '[')
		for i := range v.Len() {
			b = inner.write(comma(b), v.Index(i))
		}
		return append(b, ']')
	}
	tc.read = func(d *decoder, v reflect.Value) error {
		v.SetZero()
		return d.array(func() error {
			v.Grow(1)
			n := v.Len()
			v.SetLen(n + 1)
			return inner.read(d, v.Index(n))
		})
	}
}

// stringMap is a map whose keys and values are strings, in the order of the keys.
func (c *codec) stringMap(tc *typeCodec, t reflect.Type) {
	tc.empty = func(v reflect.Value) bool { return v.Len() == 0 }
	tc.write = func(b []byte, v reflect.Value) []byte {
		keys := make([]string, 0, v.Len())
		for _, k := range v.MapKeys() {
			keys = append(keys, k.String())
		}
		b = append(b, '{')
		for _, k := range sorted(keys) {
			b = append(appendString(comma(b), k), ':')
			b = appendString(b, v.MapIndex(reflect.ValueOf(k)).String())
		}
		return append(b, '}')
	}
	tc.read = func(d *decoder, v reflect.Value) error {
		v.Set(reflect.MakeMap(t))
		return d.object(func(name string) error {
			return d.string(func(s string) { v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(s)) })
		})
	}
}

// value is a model.Value of any figure.
func (c *codec) value(tc *typeCodec, t reflect.Type) {
	parts := func(v reflect.Value) (reflect.Value, *bool, *string) {
		p, _ := v.Addr().Interface().(parted)
		figure, known, reason := p.Parts()
		return reflect.ValueOf(figure).Elem(), known, reason
	}
	figure, _, _ := parts(reflect.New(t).Elem())
	inner := c.of(figure.Type())
	wrapped := figure.Kind() == reflect.Map || figure.Kind() == reflect.Struct
	tc.write = func(b []byte, v reflect.Value) []byte {
		figure, known, reason := parts(v)
		switch {
		case *known && wrapped:
			return append(inner.write(append(b, `{"known":`...), figure), '}')
		case *known:
			return inner.write(b, figure)
		case *reason == "":
			return append(b, "null"...)
		}
		return append(appendString(append(b, `{"unknown":`...), *reason), '}')
	}
	tc.read = func(d *decoder, v reflect.Value) error {
		figure, known, reason := parts(v)
		switch kind := d.in.PeekKind(); {
		case kind == 'n':
			return d.skip()
		case kind != '{':
			*known = true
			return inner.read(d, figure)
		}
		return d.object(func(name string) error {
			switch name {
			case "unknown":
				return d.string(func(s string) { *known, *reason = false, s })
			case "known":
				*known = true
				return inner.read(d, figure)
			}
			return d.skip()
		})
	}
}

func writeTime(b []byte, v reflect.Value) []byte {
	t, _ := v.Interface().(time.Time)
	b = append(b, '"')
	return append(t.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

func readTime(d *decoder, v reflect.Value) error {
	var bad error
	err := d.string(func(s string) {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			bad = d.wrong("a time")
			return
		}
		v.Set(reflect.ValueOf(t.UTC()))
	})
	if err != nil {
		return err
	}
	return bad
}

// comma begins another element, unless it is the first.
func comma(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

// appendString quotes a text; bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// appendFloat writes what JSON has no number for as a word.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Inf"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Inf"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}
