package render

import (
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "ErrImagePull: not found", "ErrImagePull: not found"},
		{"letters of any script", "größer ≠ 大きい ×4", "größer ≠ 大きい ×4"},
		{"escape", "\x1b[31mred", `\x1b[31mred`},
		{"C1 escape", "\u009b2J", `\x9b2J`},
		{"raw C1 byte", "a\x9bb", `a\x9bb`},
		{"line break", "a\r\nb\tc", `a\r\nb\tc`},
		{"delete and null", "\x7f\x00", `\x7f\x00`},
		{"bidi override", "abc\u202etxt\u2066", `abc\u202etxt\u2066`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"invisible", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"tag", "\U000e0041", `\U000e0041`},
		{"stacked marks", "a\u0300\u0301", `a\u0300\u0301`},
		{"broken UTF-8", "\xff\xc3", `\xff\xc3`},
		{"replacement character stays", "\ufffd", "\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", evil, "\x1b]0;title\x07", "\u202e\u2066\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("Clean(%q) is not UTF-8: %q", s, got)
		}
		for _, r := range got {
			if r < ' ' || (r >= 0x7f && r < 0xa0) {
				t.Errorf("Clean(%q) keeps %U", s, r)
			}
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean is not idempotent: %q, then %q", got, again)
		}
	})
}
