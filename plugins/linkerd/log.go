package linkerd

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What the proxy says of its workers when it starts, before anything else that
// is of interest here. In JSON the field is a string: "cores":"3".
var (
	singleThreaded = regexp.MustCompile(`Using single-threaded proxy runtime`)
	multiThreaded  = regexp.MustCompile(`Using multi-threaded proxy runtime`)
	coresField     = regexp.MustCompile(`\bcores"?[=:]\s*"?(\d+)`)
)

// maxLogWorkers bounds what is believed of a log: no machine has more CPUs.
const maxLogWorkers = 1 << 14

// WorkersFromLog reads the number of workers from the beginning of the proxy's
// log, for when its metrics cannot be read. The lines are gone once the log has
// been rotated. Terminal colours between the words are tolerated.
func (Adapter) WorkersFromLog(log []byte) model.Value[int64] {
	for line := range bytes.Lines(log) {
		line = ansiColours.ReplaceAll(line, nil)
		switch {
		case singleThreaded.Match(line):
			return model.Known[int64](1)
		case multiThreaded.Match(line):
			m := coresField.FindSubmatch(line)
			if m == nil {
				return model.Unknown[int64]("the proxy's start-up line does not tell its cores")
			}
			if n, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil && n > 0 && n <= maxLogWorkers {
				return model.Known(n)
			}
			return model.Unknown[int64]("the proxy's start-up line holds no sensible number of cores")
		}
	}
	return model.Unknown[int64]("the beginning of the proxy's log has no line about its runtime")
}

var ansiColours = regexp.MustCompile("\x1b\\[[0-9;]*m")
