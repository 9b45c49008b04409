package parse

import (
	"bufio"
	"strings"
	"testing"
)

// Lines around the bound and around the size of the reader's buffer, be that
// smaller or larger than the bound.
func TestLineReaderSizes(t *testing.T) {
	const most = 100
	for _, buffer := range []int{16, 4096} {
		testLineReaderSizes(t, most, buffer)
	}
}

func testLineReaderSizes(t *testing.T, most, buffer int) {
	t.Helper()
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 99, 100, 101, 116, 1000} {
		for _, end := range []string{"\n", "\r\n", ""} {
			line := strings.Repeat("x", n)
			l := lineReader{r: bufio.NewReaderSize(strings.NewReader("first\n"+line+end), buffer), max: most}
			if _, _, err := l.next(); err != nil {
				t.Fatal(err)
			}
			got, whole, err := l.next()
			if n == 0 && end == "" {
				if err == nil {
					t.Error("a line at the end of the input")
				}
				continue
			}
			want := line[:min(n, most)]
			if err != nil || whole != (n <= most) || string(got[:min(len(got), most)]) != want || l.torn != (end == "") {
				t.Errorf("%d bytes and %q: %d bytes, whole %v, torn %v, %v", n, end, len(got), whole, l.torn, err)
			}
			if _, _, err := l.next(); err == nil {
				t.Error("one more line")
			}
		}
	}
}

func TestLineReaderGoesOnBehindALongLine(t *testing.T) {
	l := lineReader{r: bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 1000)+"\nnext\n"), 16), max: 100}
	_, whole, _ := l.next()
	got, next, err := l.next()
	if whole || !next || string(got) != "next" || err != nil {
		t.Errorf("%v %v %q %v", whole, next, got, err)
	}
}
