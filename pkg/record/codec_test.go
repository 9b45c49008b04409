package record

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// filler sets every exported field to something that is not zero, and no two alike.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value, depth int) {
	f.n++
	if v.CanAddr() {
		if p, ok := v.Addr().Interface().(parted); ok {
			figure, known, reason := p.Parts()
			if *known = f.n%3 != 0; *known {
				f.fill(reflect.ValueOf(figure).Elem(), depth)
			} else {
				*reason = fmt.Sprintf("reason \x1b %d", f.n)
			}
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(1e9+f.n), int64(f.n)).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if v.Type().Elem() == reflect.TypeFor[model.Pod]() && depth > 0 {
			return // an earlier sample has none of its own
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, depth)
		f.fill(value, depth)
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d \"ü\n", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.25)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(f.n))
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(uint64(f.n % 200))
	default:
		panic("no filler for " + v.Type().String())
	}
}

// fullPod is a pod of which every field is set.
func fullPod(seed int) model.Pod {
	var p model.Pod
	f := filler{n: seed}
	f.fill(reflect.ValueOf(&p).Elem(), 0)
	return p
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // cmp takes a hundred times as long
	}
	exact := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, exact, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Every field of a pod survives: one that is added later cannot be forgotten.
func TestEveryFieldSurvives(t *testing.T) {
	for seed := range 3 {
		c := newCodec(nil)
		want := fullPod(seed)
		// A map of values is in none but Proxy.Env, which is never written.
		want.Proxy.Env = nil
		for i := range want.Earlier {
			want.Earlier[i].Proxy.Env = nil
		}
		tc := c.of(reflect.TypeFor[model.Pod]())
		line := tc.write(nil, reflect.ValueOf(&want).Elem())
		var got model.Pod
		d := newDecoder()
		d.reset(line)
		if err := tc.read(d, reflect.ValueOf(&got).Elem()); err != nil {
			t.Fatalf("%v in\n%s", err, line)
		}
		equal(t, want, got)
	}
}

func TestFigures(t *testing.T) {
	c := newCodec(nil)
	type values struct {
		A, B, C model.Value[float64]
		D       model.Value[int64]
		M, N    model.Value[map[string]string]
		F       float64
	}
	want := values{
		A: model.Known(0.0), B: model.Unknown[float64]("why"), C: model.Known(math.NaN()), D: model.Known[int64](math.MinInt64),
		M: model.Known(map[string]string{"unknown": "no", "a": "b"}), N: model.Unknown[map[string]string]("may not be read"), F: math.Inf(-1),
	}
	tc := c.of(reflect.TypeFor[values]())
	line := tc.write(nil, reflect.ValueOf(&want).Elem())
	const text = `{"a":0,"b":{"unknown":"why"},"c":"NaN","d":-9223372036854775808,"m":{"known":{"a":"b","unknown":"no"}},"n":{"unknown":"may not be read"},"f":"-Inf"}`
	if string(line) != text {
		t.Errorf("got  %s\nwant %s", line, text)
	}
	var got values
	d := newDecoder()
	d.reset(line)
	if err := tc.read(d, reflect.ValueOf(&got).Elem()); err != nil {
		t.Fatal(err)
	}
	equal(t, want, got)
}

func TestWrongTypes(t *testing.T) {
	c := newCodec(nil)
	tc := c.of(reflect.TypeFor[model.Pod]())
	for _, line := range []string{
		``, `{`, `[]`, `7`, `{"node":7}`, `{"ready":"yes"}`, `{"listeners":{}}`, `{"listeners":[{"port":70000}]}`, `{"listeners":[{"port":-1}]}`,
		`{"sample":{"arrived":"noon"}}`, `{"listeningSockets":"many"}`, `{"listeningSockets":{"unknown":7}}`, `{"window":{"seconds":true}}`,
		`{"listeningSockets":1e99}`, `{"earlier":[{"earlier":[{"earlier":[` /* cut off */, "{\"node\":\"\xff", `{"proxy":null}`,
	} {
		var p model.Pod
		d := newDecoder()
		d.reset([]byte(line))
		if err := tc.read(d, reflect.ValueOf(&p).Elem()); err == nil {
			t.Errorf("%s was read", line)
		}
	}
	var p model.Pod
	d := newDecoder()
	d.reset([]byte(`{"of a later version":{"x":[1,2]},"node":"n"}`))
	if err := tc.read(d, reflect.ValueOf(&p).Elem()); err != nil || p.Node != "n" {
		t.Errorf("%v %+v", err, p.Node)
	}
}

func FuzzDecode(f *testing.F) {
	c := newCodec(nil)
	tc := c.of(reflect.TypeFor[model.Pod]())
	p := fullPod(1)
	p.Proxy.Env, p.Earlier = nil, nil
	f.Add(tc.write(nil, reflect.ValueOf(&p).Elem()))
	f.Add([]byte(`{"listeners":[{"sockets":[{"depth":1e3}]}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var p model.Pod
		d := newDecoder()
		d.reset(line)
		if tc.read(d, reflect.ValueOf(&p).Elem()) != nil {
			return
		}
		// What was read is written and read again as the same.
		again := tc.write(nil, reflect.ValueOf(&p).Elem())
		var q model.Pod
		d.reset(again)
		if err := tc.read(d, reflect.ValueOf(&q).Elem()); err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		if third := tc.write(nil, reflect.ValueOf(&q).Elem()); string(third) != string(again) {
			t.Fatalf("%s\n%s", again, third)
		}
	})
}
