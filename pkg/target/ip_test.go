package target

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		want string // "" is a name
	}{
		{"10.42.0.5", "10.42.0.5"},
		{"10.42.0.5:8080", "10.42.0.5:8080"},
		{"fd00::5", "fd00::5"},
		{"[fd00::5]", "fd00::5"},
		{"[fd00::5]:8080", "[fd00::5]:8080"},
		{"FD00::0:5", "fd00::5"},
		{"::ffff:10.42.0.5", "10.42.0.5"},
		// As lines are copied.
		{"10.42.0.5:8080:", "10.42.0.5:8080"}, // dial tcp 10.42.0.5:8080: connect: connection timed out
		{"10.42.0.5:", "10.42.0.5"},
		{"[fd00::5]:8080:", "[fd00::5]:8080"},
		{"tcp://10.42.0.5:8080", "10.42.0.5:8080"},
		{"http://10.42.0.5:8080/ready?x=1", "10.42.0.5:8080"},
		{"https://[fd00::5]:8443/", "[fd00::5]:8443"},
		{"10.42.0.5:8080/ready", "10.42.0.5:8080"},
		{`"10.42.0.5:8080",`, "10.42.0.5:8080"},
		{"(10.42.0.5:8080).", "10.42.0.5:8080"},
		{"[10.42.0.5:8080]", "10.42.0.5:8080"},
		{"/10.42.0.5:8080", "10.42.0.5:8080"},
		{"web.shop/10.42.0.5:8080", "10.42.0.5:8080"},
		{"10.42.0.9:41000->10.42.0.5:8080:", "10.42.0.5:8080"},
		// Names, though some are near an address.
		{"server-5d4f", ""},
		{"10.42.0", ""},
		{"10.42.0.5.example.com", ""},
		{"10.42.0.256", ""},
		{"010.42.0.5", ""},
		{"deploy/server", ""},
		{"pod/10.42.0.5", ""},
		{"web:8080", ""},
		{"http://web:8080/", ""},
		{"10.42.0.0/16", ""},
		{"a:b:c", ""},
		{"", ""},
		{":", ""},
		{"[", ""},
		{"[fd00::5", "fd00::5"},
	} {
		a, is, err := parseAddress(tt.arg)
		if err != nil || is != (tt.want != "") || a.text != tt.want {
			t.Errorf("%q: %q, %v, %v; want %q", tt.arg, a.text, is, err, tt.want)
		}
		if IsAddress(tt.arg) != is {
			t.Errorf("%q: IsAddress says %v", tt.arg, !is)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"10.42.0.5:0":      `"10.42.0.5:0": "0" is not a port (1 to 65535)`,
		"10.42.0.5:65536":  `"65536" is not a port`,
		"10.42.0.5:http":   `"http" is not a port`,
		"[fd00::5]:x":      `"x" is not a port`,
		"127.0.0.1:4140":   "127.0.0.1 is an address of the pod that printed it",
		"[::1]:80":         "::1 is an address of the pod that printed it",
		"0.0.0.0:80":       "0.0.0.0 is an address of the pod",
		"fe80::1":          "fe80::1 holds on one link only",
		"fe80::1%eth0":     "holds on one link only",
		"::ffff:127.0.0.1": "127.0.0.1 is an address of the pod",
	} {
		_, is, err := parseAddress(arg)
		if err == nil || !is || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", arg, is, err, want)
		}
	}
}
