package collect

import (
	_ "embed"
	"strconv"
	"time"
)

// samplerScript is what a probe runs. It must not hold "$$" or "$(NAME)" of one
// of its own variables: the kubelet expands these in a container's command.
//
//go:embed sampler.sh
var samplerScript string

// Script is the sampler, a POSIX shell script that prints frames.
func Script() string { return samplerScript }

// The sampler's variables.
const (
	envTTL         = "BACKLOG_PROBE_TTL"          // whole seconds; 0: until it is stopped
	envTarget      = "BACKLOG_PROBE_TARGET"       // a process whose threads are shown
	envContainer   = "BACKLOG_PROBE_CONTAINER"    // the name that is printed with them
	envContainerID = "BACKLOG_PROBE_CONTAINER_ID" // its first process is the target
	envOwners      = "BACKLOG_PROBE_OWNERS"       // tell who holds the sockets, without a target too
	envStdin       = "BACKLOG_PROBE_STDIN"        // a frame for each line of standard input
	envReason      = "BACKLOG_PROBE_REASON"       // for an auditor, and `probes`
	envBy          = "BACKLOG_PROBE_BY"           // who added it; for an auditor, and `probes`
)

// ttlSeconds rounds up, so that a short TTL never becomes "never".
func ttlSeconds(ttl time.Duration) string {
	return strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10)
}
