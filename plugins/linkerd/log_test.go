package linkerd

import "testing"

// The lines are those of linkerd2-proxy 2.366, in both of its log formats.
func TestWorkersFromLog(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want int64 // 0: unknown
	}{
		"one":            {"[     0.003s]  INFO ThreadId(01) linkerd2_proxy: release 2.366.0\n[     0.004s]  INFO ThreadId(01) linkerd2_proxy::rt: Using single-threaded proxy runtime\n", 1},
		"several":        {"[     0.002s]  INFO ThreadId(01) linkerd2_proxy::rt: Using multi-threaded proxy runtime cores=3\n", 3},
		"coloured":       {"INFO linkerd2_proxy::rt: Using multi-threaded proxy runtime \x1b[3mcores\x1b[0m\x1b[2m=\x1b[0m12\n", 12},
		"JSON":           {`{"timestamp":"[     0.002s]","level":"INFO","fields":{"message":"Using multi-threaded proxy runtime","cores":"4"},"target":"linkerd2_proxy::rt"}` + "\n", 4},
		"no newline":     {"Using single-threaded proxy runtime", 1},
		"cut off":        {"Using multi-threaded proxy runtime co", 0},
		"absurd":         {"Using multi-threaded proxy runtime cores=99999999999999999999\n", 0},
		"zero":           {"Using multi-threaded proxy runtime cores=0\n", 0},
		"another's":      {"starting server cores=8\n", 0},
		"empty":          {"", 0},
		"other before":   {"x cores=8\nUsing multi-threaded proxy runtime cores=2\n", 2},
		"hostile escape": {"Using multi-threaded proxy runtime \x1b]0;cores=7\x07\n", 7},
	} {
		got := Adapter{}.WorkersFromLog([]byte(c.log))
		if n, ok := got.Get(); ok != (c.want != 0) || ok && n != c.want {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
		if !got.IsKnown() && got.Reason() == "" {
			t.Errorf("%s: unknown without a reason", name)
		}
	}
}
