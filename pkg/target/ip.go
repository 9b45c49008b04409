package target

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// address is an argument that means whoever has this IP: "10.42.0.5",
// "10.42.0.5:8080", "[fd00::5]:8080".
type address struct {
	// text is the address as it is told: with its port where one was given.
	text string
	ip   netip.Addr
	port uint16 // 0: none was given
}

// IsAddress says whether an argument means an IP instead of a name. It is true
// for one that is wrong in its port, too.
func IsAddress(arg string) bool {
	_, is, _ := parseAddress(arg)
	return is
}

// around are the characters that stand next to an address in a log line, and
// get copied with it.
const around = " \t\r\n\"'`,;.()<>{}"

var schemeWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// parseAddress reads an address as it stands in a client's error line, with
// whatever people copy with it: a scheme and a path (`http://10.0.0.1:80/x`),
// quotes and punctuation (`10.0.0.1:80:`), Java's `host/10.0.0.1:80`, and the two
// ends of a connection as Go prints them (`10.0.0.2:41000->10.0.0.1:80`), of which
// the second was called. It gives false for whatever is a name: a word that
// holds no IP is never bent until it does.
func parseAddress(arg string) (address, bool, error) {
	text := strings.Trim(arg, around)
	if _, called, ok := strings.Cut(text, "->"); ok {
		text = strings.Trim(called, around)
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok && schemeWord.MatchString(scheme) {
		text, _, _ = strings.Cut(rest, "/")
	} else if before, after, ok := strings.Cut(text, "/"); ok {
		// A pod's name may be "10.0.0.1", so that pod/10.0.0.1 is one; no name holds
		// a colon.
		switch {
		case before == "", strings.Contains(after, ":"):
			text = after
		case strings.Contains(before, ":"):
			text = before
		}
	}
	host, port := splitPort(text)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return address{}, false, nil //nolint:nilerr // then it is a name
	}
	a := address{ip: ip.Unmap()}
	a.text = a.ip.String()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return address{}, true, fmt.Errorf("%q: %q is not a port (1 to 65535)", arg, port)
		}
		a.port = uint16(n)
		a.text = netip.AddrPortFrom(a.ip, a.port).String()
	}
	switch {
	case a.ip.IsLoopback(), a.ip.IsUnspecified():
		return address{}, true, fmt.Errorf("%s is an address of the pod that printed it, not of one that can be looked for: name that pod", a.ip)
	case a.ip.Zone() != "", a.ip.IsLinkLocalUnicast(), a.ip.IsMulticast():
		return address{}, true, fmt.Errorf("%s holds on one link only: no pod or service is known by it", a.ip)
	}
	return a, true, nil
}

// splitPort takes the port off, and the colons that end a log line's words.
func splitPort(text string) (host, port string) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inside, rest, closed := strings.Cut(inner, "]")
		if _, err := netip.ParseAddr(inside); err == nil && closed {
			return inside, strings.Trim(rest, ":"+around)
		}
		text = inside
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return text, "" // an IPv6 address has colons of its own
	}
	text = strings.TrimRight(text, ":"+around)
	if strings.Count(text, ":") != 1 {
		return text, ""
	}
	host, port, _ = strings.Cut(text, ":")
	return host, port
}

// withoutAddresses parts the arguments into addresses and names. A type that
// stood before addresses alone ("pods 10.0.0.1") goes with them: by itself it
// would mean every pod.
func withoutAddresses(args []string) (addresses []address, names []string, err error) {
	for _, arg := range args {
		a, is, err := parseAddress(arg)
		switch {
		case err != nil:
			return nil, nil, err
		case !is:
			names = append(names, arg)
		case !slices.Contains(addresses, a):
			addresses = append(addresses, a)
		}
	}
	if len(addresses) > 0 && len(names) == 1 && isPodType(names[0]) {
		names = nil
	}
	return addresses, names, nil
}
