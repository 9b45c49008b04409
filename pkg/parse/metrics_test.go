package parse

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Nothing of a real page is lost: every line that is not a comment is a sample,
// found by the name and all labels that stand in that line.
func TestReadMetricsRecorded(t *testing.T) {
	recorded(t, "metrics/*.txt", func(t *testing.T, _, text string) {
		m, err := ReadMetrics(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			if strings.HasPrefix(line, "#") {
				continue
			}
			lines++
			name, labels, value := takeApart(t, line)
			if got, ok := m.Value(name, labels...); !ok || got != value {
				t.Errorf("%s is %v (%v), want %v", line, got, ok, value)
			}
		}
		if m.Len() != lines || lines < 28 {
			t.Errorf("%d samples of %d lines", m.Len(), lines)
		}
	})
}

// takeApart reads a sample line of a recorded page by other means than the
// package; labels there hold no quote and no brace.
func takeApart(t *testing.T, line string) (name string, labels []string, value float64) {
	t.Helper()
	at := strings.LastIndexByte(line, ' ')
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	name, list, _ := strings.Cut(line[:at], "{")
	for _, pair := range strings.Split(strings.TrimSuffix(list, "}"), `",`) {
		if k, v, ok := strings.Cut(pair, `="`); ok {
			labels = append(labels, k, strings.TrimSuffix(v, `"`))
		}
	}
	return name, labels, value
}

// The figures of a Linkerd proxy, as they stand in the recorded page.
func TestMetricsOfLinkerd(t *testing.T) {
	m, err := ReadMetrics(strings.NewReader(readFile(t, "testdata/metrics/linkerd-idle.txt")))
	if err != nil {
		t.Fatal(err)
	}
	for sample, want := range map[string]float64{
		"tokio_rt_workers": 1, "tokio_rt_park_total": 14, "tokio_rt_polls_total": 49,
		"tokio_rt_busy_seconds_total": 0.002898941, "process_start_time_seconds": 1796061908.9726158,
	} {
		if got, ok := m.Value(sample); !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", sample, got, ok, want)
		}
	}
	if v, ok := m.Value("tokio_rt_park"); ok {
		t.Errorf("tokio_rt_park is not a sample's name, but %v", v)
	}
	if v, ok := m.Label("proxy_build_info", "version"); !ok || v != "2.366.0" {
		t.Errorf("version %q, %v", v, ok)
	}
}

func readMetrics(t *testing.T, text string) *Metrics {
	t.Helper()
	m, err := ReadMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetricsLookups(t *testing.T) {
	m := readMetrics(t, `x{a="1",b="p"} 1
x{a="2",b="p"} 2
x{a="2",b="q"} 4
nan NaN
mixed{a="1"} NaN
mixed{a="2"} 3
escaped{a="one \" } more"} 6
quoted{a="say \"hi\" } # \\ \n",b=""} 5
`)
	value := func(v float64, ok bool) string { return fmt.Sprint(v, ok) }
	for _, test := range []struct{ name, got, want string }{
		{"first of a name", value(m.Value("x")), "1 true"},
		{"by a label", value(m.Value("x", "a", "2")), "2 true"},
		{"by two labels", value(m.Value("x", "b", "q", "a", "2")), "4 true"},
		{"no such label value", value(m.Value("x", "a", "3")), "0 false"},
		{"no such label", value(m.Value("x", "c", "1")), "0 false"},
		{"a label that is not there is empty", value(m.Value("x", "c", "")), "1 true"},
		{"no such name", value(m.Value("y")), "0 false"},
		{"a name without its value", value(m.Value("x", "a")), "0 false"},
		{"sum of all", value(m.Sum("x")), "7 true"},
		{"sum by a label", value(m.Sum("x", "a", "2")), "6 true"},
		{"sum of none", value(m.Sum("x", "a", "3")), "0 false"},
		{"NaN was not measured", value(m.Value("nan")), "0 false"},
		{"the sum of NaN neither", value(m.Sum("nan")), "0 false"},
		{"the first that is not NaN", value(m.Value("mixed")), "3 true"},
		{"sum without NaN", value(m.Sum("mixed")), "3 true"},
		{"one quote and a brace in a label", value(m.Value("escaped", "a", "one \" } more")), "6 true"},
		{"quotes and braces in a label", value(m.Value("quoted", "a", "say \"hi\" } # \\ \n")), "5 true"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", test.name, test.got, test.want)
		}
	}
	var each []string
	m.Each("x", func(labels map[string]string, v float64) { each = append(each, fmt.Sprint(labels, v)) })
	if diff := cmp.Diff([]string{"map[a:1 b:p] 1", "map[a:2 b:p] 2", "map[a:2 b:q] 4"}, each); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Each("nan", func(_ map[string]string, v float64) {
		if !math.IsNaN(v) {
			t.Errorf("NaN became %v", v)
		}
	})
}

// No page at all is a page without samples.
func TestMetricsOfNothing(t *testing.T) {
	for _, m := range []*Metrics{nil, {}} {
		if _, ok := m.Value("x"); ok || m.Len() != 0 {
			t.Error("a sample of nothing")
		}
		if _, ok := m.Sum("x"); ok {
			t.Error("a sum of nothing")
		}
		if _, ok := m.Label("x", "a"); ok {
			t.Error("a label of nothing")
		}
		m.Each("x", func(map[string]string, float64) { t.Error("called for nothing") })
	}
}

// What stops expfmt on pages that are right by another format's rules.
func TestReadMetricsOpenMetrics(t *testing.T) {
	m := readMetrics(t, strings.ReplaceAll(`# TYPE build info
# HELP build what it is \x
build_info{version="1"} 1
# TYPE odd unknown
odd 2
# TYPE set stateset
set{set="a"} 1
# TYPE hits counter
# UNIT hits seconds
hits_total{code="200"} 3 1520879607.789
hits_created{code="200"} 1520879607.1
# TYPE lat histogram
lat_bucket{le="0.1"} 4 # {trace_id="KOO5S4 } vxl0"} 0.067 1520879607.789
lat_bucket{le="+Inf"} 5 # {trace_id="x"} 1
lat_count 5
lat_sum 0.5
# TYPE lat2 summary
lat2{quantile="not a number"} 6
	  indented   7   1520879607000
{"a name in quotes",label="x"} 8
inf +Inf
# EOF
`, "\n", "\r\n"))
	for _, test := range []struct {
		sample string
		labels []string
		want   float64
	}{
		{"build_info", []string{"version", "1"}, 1},
		{"odd", nil, 2},
		{"set", []string{"set", "a"}, 1},
		{"hits_total", []string{"code", "200"}, 3},
		{"lat_bucket", []string{"le", "0.1"}, 4},
		{"lat_bucket", []string{"le", "+Inf"}, 5},
		{"lat_count", nil, 5},
		{"lat_sum", nil, 0.5},
		{"lat2", []string{"quantile", "not a number"}, 6},
		{"indented", nil, 7},
		{"a name in quotes", []string{"label", "x"}, 8},
		{"inf", nil, math.Inf(1)},
	} {
		if got, ok := m.Value(test.sample, test.labels...); !ok || got != test.want {
			t.Errorf("%s%v is %v (%v), want %v", test.sample, test.labels, got, ok, test.want)
		}
	}
	if m.Len() != 13 {
		t.Errorf("%d samples", m.Len())
	}
}

// A malformed line is told with its number on the page, and all others are kept;
// no half-read sample becomes a 0.
func TestReadMetricsMalformed(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"bad", `metrics line 3: no value after the name: "bad"`},
		{"bad ", `metrics line 3: no value after the name: "bad"`},
		{"bad x", `metrics line 3: expected float as value, got "x": "bad x"`},
		{"bad 0x1p3", `metrics line 3: expected float as value, got "0x1p3": "bad 0x1p3"`},
		{"bad{", `metrics line 3: labels do not end: "bad{"`},
		{`bad{a="1} 1`, `metrics line 3: labels do not end: "bad{a=\"1} 1"`},
		{`bad{a="1"}`, `metrics line 3: no value after the name: "bad{a=\"1\"}"`},
		{`bad{a="1" b="2"} 1`, `metrics line 3: unexpected end of label value "1": "bad{a=\"1\" b=\"2\"} 1"`},
		{`bad{a="1",a="2"} 1`, `metrics line 3: duplicate label names for metric "bad": "bad{a=\"1\",a=\"2\"} 1"`},
		{`bad{a="\x"} 1`, `metrics line 3: invalid escape sequence '\x': "bad{a=\"\\x\"} 1"`},
		{"bad{a=\"\\\x1b[2J\"} 1", "metrics line 3: invalid escape sequence '\\\uFFFD" + `': "bad{a=\"\\\x1b[2J\"} 1"`},
		{`bad{__name__="x"} 1`, `metrics line 3: label name "__name__" is reserved: "bad{__name__=\"x\"} 1"`},
		{"bad 1 yesterday", `metrics line 3: what follows the value is not a time stamp: "bad 1 yesterday"`},
		{"bad 1 2 3", `metrics line 3: what follows the value is not a time stamp: "bad 1 2 3"`},
		{"\x1b[2Jbad 1", `metrics line 3: not a sample: "\x1b[2Jbad 1"`},
		{"0bad 1", `metrics line 3: not a sample: "0bad 1"`},
		{`{} 1`, `metrics line 3: invalid metric name: "{} 1"`},
		{`{a="1"} 1`, `metrics line 3: invalid metric name: "{a=\"1\"} 1"`},
		{strings.Repeat("x", maxLine+1) + " 1", `metrics line 3: line is longer than 64 KiB: "` + strings.Repeat("x", 120) + `…"`},
	} {
		m, err := ReadMetrics(strings.NewReader("# TYPE good counter\ngood 1\n" + test.line + "\ngood2 2\n"))
		if err == nil || err.Error() != test.want {
			t.Errorf("%.40q: got  %v\nwant %s", test.line, err, test.want)
		}
		a, _ := m.Value("good")
		b, _ := m.Value("good2")
		if a != 1 || b != 2 || m.Len() != 2 {
			t.Errorf("%.40q: good %v, good2 %v, %d samples", test.line, a, b, m.Len())
		}
		if v, ok := m.Value("bad"); ok {
			t.Errorf("%.40q: became %v", test.line, v)
		}
	}
}

// A page that was cut off: the last figure may be torn (62 of 6282).
func TestReadMetricsTorn(t *testing.T) {
	m, err := ReadMetrics(strings.NewReader("a 1\ntokio_rt_park_total 62"))
	if err == nil || err.Error() != `metrics line 2: page ends in the middle of a line: "tokio_rt_park_total 62"` {
		t.Error(err)
	}
	if v, ok := m.Value("tokio_rt_park_total"); ok || m.Len() != 1 {
		t.Errorf("took %v, %d samples", v, m.Len())
	}
	if m, err := ReadMetrics(strings.NewReader("a 1\n# EOF")); err != nil || m.Len() != 1 {
		t.Errorf("no newline behind # EOF: %v, %d samples", err, m.Len())
	}
}

func TestReadMetricsNotAPage(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "not a metrics page: it holds no sample",
		"\n\n":                             "not a metrics page: it holds no sample",
		"# EOF\n":                          "not a metrics page: it holds no sample",
		"<html>\n<body>x 1\n</html>":       `not a metrics page: starts with "<html>"`,
		"<pre>\nx 1\n</pre>\n":             `not a metrics page: starts with "<pre>"`,
		"\n<!DOCTYPE html><html><head>":    `not a metrics page: starts with "<!DOCTYPE html><html><head>"`,
		`{"error":"\u001b[2J"}`:            `not a metrics page: starts with "{\"error\":\"\\u001b[2J\"}"`,
		"404 page not found\n":             `not a metrics page: starts with "404 page not found"`,
		"upstream connect error or reset":  `not a metrics page: starts with "upstream connect error or reset"`,
		"Unauthorized\nx\n":                `not a metrics page: starts with "Unauthorized"`,
		"\x1b]0;title\x07" + "hello\n":     `not a metrics page: starts with "\x1b]0;title\ahello"`,
		strings.Repeat("word ", 100000):    `not a metrics page: starts with "word word word word word word word word …"`,
		strings.Repeat("hello you\n", 100): `not a metrics page: starts with "hello you"`,
		strings.Repeat("a", 2*maxLine):     `not a metrics page: starts with "` + strings.Repeat("a", 40) + `…"`,
	} {
		for _, prefixes := range [][]string{nil, {"tokio_rt_"}} {
			m, err := ReadMetricsOnly(strings.NewReader(text), prefixes...)
			if err == nil || err.Error() != want || m == nil || m.Len() != 0 {
				t.Errorf("%.40q: got  %v\nwant %s", text, err, want)
			}
		}
	}
}

func TestReadMetricsOnly(t *testing.T) {
	page := readFile(t, "testdata/metrics/linkerd-loaded.txt")
	all := readMetrics(t, page)
	some, err := ReadMetricsOnly(strings.NewReader(page), "tokio_rt_", "process_", "proxy_build_info")
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, line := range strings.Split(page, "\n") {
		for _, prefix := range []string{"tokio_rt_", "process_", "proxy_build_info"} {
			if strings.HasPrefix(line, prefix) {
				want++
			}
		}
	}
	if some.Len() != want || want < 26 || all.Len() < 2*want {
		t.Errorf("%d of %d samples, want %d", some.Len(), all.Len(), want)
	}
	a, _ := all.Value("tokio_rt_busy_seconds_total")
	b, ok := some.Value("tokio_rt_busy_seconds_total")
	if !ok || a != b {
		t.Errorf("%v is not %v", b, a)
	}
	if _, ok := some.Value("request_total"); ok {
		t.Error("a sample that was not asked for")
	}
	// None of the page is wanted: that is no error, the page is one.
	if m, err := ReadMetricsOnly(strings.NewReader(page), "nginx_"); err != nil || m.Len() != 0 {
		t.Errorf("%v, %d samples", err, m.Len())
	}
	if m, err := ReadMetricsOnly(strings.NewReader("a 1\n{\"nginx.x\"} 2\n"), "nginx."); err != nil || m.Len() != 1 {
		t.Errorf("a name in quotes: %v, %d samples", err, m.Len())
	}
}

// Line numbers go on behind a line that expfmt stopped at.
func TestReadMetricsLineNumbers(t *testing.T) {
	_, err := ReadMetrics(strings.NewReader("a 1\n# x\nbad x\nb 1\n\nbad y\nc 1\nbad z\n"))
	want := `metrics line 3: expected float as value, got "x": "bad x"
metrics line 6: expected float as value, got "y": "bad y"
metrics line 8: expected float as value, got "z": "bad z"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A thousand malformed lines cost neither the good ones nor memory.
func TestReadMetricsManyMalformed(t *testing.T) {
	var b strings.Builder
	for i := range maxRestarts - 1 {
		fmt.Fprintf(&b, "good%d 1\nbad x\n", i)
	}
	m, err := ReadMetrics(strings.NewReader(b.String()))
	if m.Len() != maxRestarts-1 {
		t.Errorf("%d samples", m.Len())
	}
	if n := strings.Count(err.Error(), "\n"); n != maxErrors {
		t.Errorf("%d errors", n+1)
	}
}

// A page without an end ends.
func TestReadMetricsBound(t *testing.T) {
	m, err := ReadMetricsOnly(&endless{line: []byte(strings.Repeat("x_total{a=\"b\"} 1\n", 200))}, "y")
	if err == nil || !strings.Contains(err.Error(), pageTooLong) || m.Len() != 0 {
		t.Errorf("%v, %d samples", err, m.Len())
	}
	m, err = ReadMetrics(&endless{line: []byte(strings.Repeat("x", 4096))})
	if err == nil || m.Len() != 0 {
		t.Errorf("%v, %d samples", err, m.Len())
	}
}

// endless repeats a line for ever.
type endless struct {
	line []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.line[e.at:])
		n += c
		e.at = (e.at + c) % len(e.line)
	}
	return n, nil
}

// A malformed page parses to the same as the page without the malformed lines,
// in the same order.
func TestReadMetricsKeepsOrder(t *testing.T) {
	m, _ := ReadMetrics(strings.NewReader("x{a=\"1\"} 1\nx{a=\"1\" b} 9\nx{a=\"2\"} 2\nbad x\nx{a=\"3\"} 3\n"))
	var got []float64
	m.Each("x", func(_ map[string]string, v float64) { got = append(got, v) })
	if !sort.Float64sAreSorted(got) || len(got) != 3 {
		t.Errorf("%v", got)
	}
}
