package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestSparkline(t *testing.T) {
	u := model.Unknown[float64]("no sample")
	k := func(f float64) model.Value[float64] { return model.Known(f) }
	for _, c := range []struct {
		name   string
		values []model.Value[float64]
		want   string
	}{
		{"unknown is a gap, zero is the lowest block", []model.Value[float64]{u, k(0), u}, " ▁ "},
		{"anything above zero is above the lowest", []model.Value[float64]{k(0), k(0.001), k(1000)}, "▁▂█"},
		{"less than one a second never looks like much", []model.Value[float64]{k(0.1), k(0.2)}, "▂▃"},
		{"scaled to its own highest", []model.Value[float64]{k(5), k(10)}, "▅█"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sparkline(c.values); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{
		0: "    ", 0.0001: "▏   ", 0.25: "█   ", 0.5: "██  ", 0.53: "██▏ ", 1: "████", 7: "████", -1: "    ",
	} {
		if got := bar(share, 4); got != want {
			t.Errorf("bar(%g) = %q, want %q", share, got, want)
		}
	}
}

func TestMiddleKeepsTheSuffix(t *testing.T) {
	const name = "checkout-79c4d5f6b8-hq2lw"
	for n, want := range map[int]string{
		25: name, 24: "checkou…79c4d5f6b8-hq2lw", 12: "che…b8-hq2lw", 6: "c…q2lw", 1: "c", 0: "",
	} {
		if got := middle(name, n); got != want {
			t.Errorf("middle(%d) = %q, want %q", n, got, want)
		}
	}
	for n := range 40 {
		if w := ansi.StringWidth(middle("名前-大きい-大きい-xyz", n)); w > n {
			t.Errorf("wide characters: %d columns in %d", w, n)
		}
	}
}

func TestCell(t *testing.T) {
	for _, c := range []struct {
		text  string
		n     int
		right bool
		want  string
	}{
		{"abc", 5, false, "abc  "},
		{"abc", 5, true, "  abc"},
		{"abcdef", 4, false, "abc…"},
		{"1≠4", 4, true, " 1≠4"},
		{"大きい", 4, false, "大… "},
		{"abc", 0, false, ""},
	} {
		if got := cell(c.text, c.n, c.right); got != c.want {
			t.Errorf("cell(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for width, want := range map[int]string{12: "left   right", 10: "left right", 8: "l… right", 4: "righ", 0: ""} {
		if got := spread("left", "right", width); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	got := fit("aaaa\nbb\ncc", 3, 2)
	if got != "aaa\nbb" {
		t.Errorf("got %q", got)
	}
	if got := fit(strings.Repeat("x\n", 9), 5, 0); got != "" {
		t.Errorf("no room: %q", got)
	}
}
