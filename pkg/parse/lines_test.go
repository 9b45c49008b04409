package parse

import (
	"strings"
	"testing"
)

// An error is one line that is safe to print, whatever the text was.
func TestLineErrorIsOneSafeLine(t *testing.T) {
	for _, test := range []struct {
		err  LineError
		want string
	}{
		{LineError{What: "ss", Line: 3, Text: "LISTEN x 128", Msg: "Recv-Q is not a number"}, `ss line 3: Recv-Q is not a number: "LISTEN x 128"`},
		{LineError{What: "frame", Msg: "no section told of the sockets"}, "frame: no section told of the sockets"},
		{LineError{What: "ss", Line: 1, Text: "\x1b[2J\n\xff", Msg: "not a row of ss"}, `ss line 1: not a row of ss: "\x1b[2J\n\xff"`},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestShortenCutsRunesNotBytes(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"short  \n", 5, "short"},
		{"exact", 5, "exact"},
		{"longer", 5, "longe…"},
		{"äöüäöü", 3, "äöü…"},
		{"", 3, ""},
	} {
		if got := shorten(test.in, test.n); got != test.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", test.in, test.n, got, test.want)
		}
	}
}

// However many lines are malformed, there are 33 errors at most, and the last
// one says how many it stands for.
func TestErrorsAreBounded(t *testing.T) {
	_, errs := ListenSockets(strings.Repeat("nonsense\n", 1000))
	if len(errs) != maxErrors+1 {
		t.Fatalf("%d errors", len(errs))
	}
	if got, want := errs[maxErrors].Error(), "ss line 33: from here on 968 more lines could not be read"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
