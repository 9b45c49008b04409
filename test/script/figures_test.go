package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// backlogList is what `get -o json` prints, as far as figures go. It is spelled
// out here instead of taken from the model, so that a changed field name shows.
type backlogList struct {
	Items []struct {
		Listeners []struct {
			Address string `json:"address"`
			Port    int    `json:"port"`
			Sockets []struct {
				Depth *int64 `json:"depth"`
				Limit *int64 `json:"limit"`
				Drops *int64 `json:"drops"`
			} `json:"sockets"`
		} `json:"listeners"`
		Counters struct {
			ListenOverflows *int64 `json:"listenOverflows"`
			ListenDrops     *int64 `json:"listenDrops"`
		} `json:"counters"`
	} `json:"items"`
}

// sameFigures compares `get -o json` with what `ss -HOltnm` and `nstat -asz`
// printed in the same network namespace while nothing moved in it. ss and nstat
// are read here by hand and not by the product's parser, which is under test.
func sameFigures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: samefigures GET SS NSTAT")
	}
	got, err := figuresOfGet(ts.ReadFile(args[0]))
	if err != nil {
		ts.Fatalf("reading %s: %v", args[0], err)
	}
	want, err := figuresOfTools(ts.ReadFile(args[1]), ts.ReadFile(args[2]))
	if err != nil {
		ts.Fatalf("reading %s and %s: %v", args[1], args[2], err)
	}
	if !slices.Equal(got, want) {
		ts.Fatalf("get says\n  %s\nss and nstat say\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	ts.Logf("equal:\n  %s", strings.Join(got, "\n  "))
}

func figuresOfGet(text string) ([]string, error) {
	var list backlogList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d items, want this machine alone", len(list.Items))
	}
	item := list.Items[0]
	figures := []string{
		"ListenOverflows " + text64(item.Counters.ListenOverflows),
		"ListenDrops " + text64(item.Counters.ListenDrops),
	}
	for _, l := range item.Listeners {
		address := l.Address
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		for _, s := range l.Sockets {
			figures = append(figures, fmt.Sprintf("%s:%d depth %s limit %s drops %s",
				address, l.Port, text64(s.Depth), text64(s.Limit), text64(s.Drops)))
		}
	}
	slices.Sort(figures)
	return figures, nil
}

func text64(v *int64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

var dropsOfSkmem = regexp.MustCompile(`skmem:\(.*,d(\d+)\)`)

func figuresOfTools(ss, nstat string) ([]string, error) {
	var figures []string
	for line := range strings.Lines(ss) {
		f, drops := strings.Fields(line), dropsOfSkmem.FindStringSubmatch(line)
		if len(f) < 5 || drops == nil {
			return nil, fmt.Errorf("line of ss: %q", line)
		}
		figures = append(figures, fmt.Sprintf("%s depth %s limit %s drops %s", f[3], f[1], f[2], drops[1]))
	}
	for line := range strings.Lines(nstat) {
		if f := strings.Fields(line); len(f) == 3 {
			if name, ok := strings.CutPrefix(f[0], "TcpExt"); ok {
				figures = append(figures, name+" "+f[1])
			}
		}
	}
	slices.Sort(figures)
	return figures, nil
}
