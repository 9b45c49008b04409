package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// formatUsers writes holders as ss does, which escapes nothing.
func formatUsers(owners []model.Owner) string {
	var list []string
	for _, o := range owners {
		list = append(list, fmt.Sprintf(`("%s",pid=%d,fd=%d)`, o.Name, o.PID, o.FD))
	}
	return "users:(" + strings.Join(list, ",") + ")"
}

func TestParseUsersRoundTrip(t *testing.T) {
	for _, owners := range [][]model.Owner{
		{{Name: "python3", PID: 1, FD: 3}},
		{{Name: "nginx", PID: 11434, FD: 7}, {Name: "nginx", PID: 11433, FD: 7}},
		{{Name: "a b (c) \"d\"", PID: 1, FD: 2}},
		{{Name: "", PID: 1, FD: 2}, {Name: "", PID: 3, FD: 4}},
		{{Name: "\n0 1 *:1 *:* ", PID: 1, FD: 2}},
		// Names that look like the end of a name.
		{{Name: `",pid=1,fd=2)`, PID: 9, FD: 9}},
		{{Name: `",pid=1,fd=2))`, PID: 9, FD: 9}, {Name: `",pid=1,fd=2),`, PID: 8, FD: 8}},
		{{Name: `x",pid=1,fd=2)`, PID: 4194304, FD: 1048575}, {Name: "x", PID: 1, FD: 1}},
		{{Name: `),("a",pid=1,f`, PID: 2, FD: 0}, {Name: `d=1))`, PID: 3, FD: 1}},
	} {
		text := formatUsers(owners)
		got, used, ok := parseUsers(text + " ino:1")
		if !ok || used != len(text) {
			t.Errorf("%q: ok %v, used %d of %d", text, ok, used, len(text))
		}
		if diff := cmp.Diff(owners, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseUsersMalformed(t *testing.T) {
	for _, text := range []string{
		"", "users:", "users:((", `users:(("`, `users:(("nginx"`, `users:(("nginx",pid=1,fd=2)`,
		`users:(("nginx",pid=x,fd=2))`, `users:(("nginx",pid=1,fd=99999999999))`,
		`users:(("a name of more than 15 bytes",pid=1,fd=2))`, `users:(("nginx",1,2))`,
		`users:(("a",pid=1,fd=2),)`, `users:(("a",pid=1,fd=2)("b",pid=1,fd=2))`,
	} {
		if owners, used, ok := parseUsers(text); ok || used > len(text) {
			t.Errorf("%q: took %v, %d bytes", text, owners, used)
		}
	}
}

// With -Z a security context stands between the process and the descriptor.
func TestParseUsersSecurityContext(t *testing.T) {
	got, _, ok := parseUsers(`users:(("sshd",pid=812,proc_ctx=system_u:system_r:sshd_t:s0,fd=3))`)
	if diff := cmp.Diff([]model.Owner{{Name: "sshd", PID: 812, FD: 3}}, got); !ok || diff != "" {
		t.Errorf("ok %v (-want +got):\n%s", ok, diff)
	}
}
