package parse

import (
	"fmt"
	"strings"
	"testing"
)

func fold() []Fold {
	return []Fold{{Prefix: `r_total{way="in"`, Keep: []string{"way", "port", "class"}}}
}

// What is asked of the sums is what would be asked of the samples.
func TestFoldedSumsAreThoseOfTheSamples(t *testing.T) {
	var b strings.Builder
	b.WriteString("workers 2\n")
	for i := range 500 {
		class := []string{"good", "bad"}[i%7/6]
		fmt.Fprintf(&b, `r_total{way="in",client="c%d, \"x\"}",port="%d",class="%s"} %d`+"\n", i, 8080+i%3, class, i)
		fmt.Fprintf(&b, `r_total{way="out",client="c%d",port="8080",class="good"} %d`+"\n", i, i)
	}
	whole, err := ReadMetricsOnly(strings.NewReader(b.String()), "workers", `r_total{way="in"`)
	if err != nil {
		t.Fatal(err)
	}
	folded, err := ReadMetricsFolded(strings.NewReader(b.String()), fold(), "workers")
	if err != nil {
		t.Fatal(err)
	}
	if folded.Len() != 7 || whole.Len() != 501 {
		t.Errorf("%d sums of %d samples, want 7 of 501", folded.Len(), whole.Len())
	}
	for _, labels := range [][]string{nil, {"way", "in"}, {"class", "bad"}, {"port", "8081"}, {"port", "8082", "class", "bad"}, {"port", "1"}} {
		want, ok0 := whole.Sum("r_total", labels...)
		got, ok1 := folded.Sum("r_total", labels...)
		if got != want || ok0 != ok1 {
			t.Errorf("%v: %v (%v), want %v (%v)", labels, got, ok1, want, ok0)
		}
	}
	if v, _ := folded.Value("workers"); v != 2 {
		t.Errorf("workers %v", v)
	}
}

// Without a prefix all samples are read, and those of the fold summed up.
func TestFoldOfAWholePage(t *testing.T) {
	m, err := ReadMetricsFolded(strings.NewReader("a 1\nr_total{way=\"in\",x=\"1\"} 2\nr_total{way=\"in\",x=\"2\"} 3\nr_total{way=\"out\"} 7\nb 4\n"), fold())
	if err != nil || m.Len() != 4 {
		t.Fatalf("%d samples, %v", m.Len(), err)
	}
	if v, _ := m.Sum("r_total", "way", "in"); v != 5 {
		t.Errorf("sum %v, want 5", v)
	}
}

// TestFoldBadLines: a line that is no sample is told and left out, and one that
// was not measured is left out.
func TestFoldBadLines(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       float64
		problem    string
	}{
		{"NaN", `r_total{way="in"} NaN`, 3, ""},
		{"no number", `r_total{way="in"} x`, 3, "value is not a number"},
		{"no end", `r_total{way="in"`, 3, "labels do not end"},
		{"a label without a value", `r_total{way="in",port} 4`, 7, ""},
		{"spaces", `r_total{way="in", port = "80" , } 4`, 7, ""},
		{"a time stamp", `r_total{way="in"} 4 1700000000`, 7, ""},
		{"an exemplar", `r_total{way="in"} 4 # {a="b"} 1`, 7, ""},
	} {
		m, err := ReadMetricsFolded(strings.NewReader("r_total{way=\"in\"} 1\n"+tt.line+"\nr_total{way=\"in\"} 2\n"), fold())
		if got, _ := m.Sum("r_total"); got != tt.want {
			t.Errorf("%s: sum %v, want %v (%v)", tt.name, got, tt.want, err)
		}
		if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.problem)
		}
	}
}

// A part of the sums must not pass for all of them.
func TestFoldWithTooManySums(t *testing.T) {
	var b strings.Builder
	b.WriteString("workers 2\n")
	for i := range maxSums + 10 {
		fmt.Fprintf(&b, "r_total{way=\"in\",port=\"%d\"} 1\n", i)
	}
	m, err := ReadMetricsFolded(strings.NewReader(b.String()), fold(), "workers")
	if _, ok := m.Sum("r_total"); ok || err == nil || !strings.Contains(err.Error(), "too many kinds") {
		t.Errorf("sums %v, %v", ok, err)
	}
	if m.Len() != 1 {
		t.Errorf("%d samples, want the other one", m.Len())
	}
}

func FuzzFold(f *testing.F) {
	f.Add(`client="a",port="80",class="x"`, "7")
	f.Add(`port="}",class="\"",x="\\"`, "1e3")
	f.Add(`,,port=`, "NaN")
	f.Fuzz(func(t *testing.T, labels, value string) {
		if strings.ContainsAny(labels+value, "\r\n") {
			return
		}
		text := "workers 1\nr_total{way=\"in\"," + labels + "} " + value + "\n"
		m, _ := ReadMetricsFolded(strings.NewReader(text), fold(), "workers")
		whole, _ := ReadMetricsOnly(strings.NewReader(text), "workers", `r_total{way="in"`)
		want, ok := whole.Sum("r_total", "port", "80")
		got, found := m.Sum("r_total", "port", "80")
		// What expfmt refuses may be a sum here, as its label may be one that goes.
		if ok && (!found || got != want) {
			t.Errorf("%q: sum %v (%v), want %v", text, got, found, want)
		}
	})
}
