package parse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"
)

// maxPage bounds a metrics page. Envoy's largest have a few MB.
const maxPage = 32 << 20

// maxRestarts bounds how often expfmt may stop at a line and be started behind it.
const maxRestarts = 1000

// maxPageStart is how much of a page that is none its error carries, in runes.
const maxPageStart = 40

const pageTooLong = "page is longer than 32 MiB, the rest was not read"

// ReadMetrics reads a metrics page in Prometheus text or OpenMetrics format, or
// in both mixed as proxies serve it.
//
// A malformed line is left out and told in the error; what was read is returned
// beside it. Only a page without a single sample gives none, and the error then
// says what the page begins with.
func ReadMetrics(r io.Reader) (*Metrics, error) {
	return ReadMetricsOnly(r)
}

// ReadMetricsOnly is ReadMetrics for the samples whose name begins with one of
// the prefixes; the others are passed over before anything costly is done with
// them. Without a prefix it reads all.
func ReadMetricsOnly(r io.Reader, prefixes ...string) (*Metrics, error) {
	return ReadMetricsFolded(r, nil, prefixes...)
}

// ReadMetricsFolded is ReadMetricsOnly, with the samples of the folds summed up.
// Those need no prefix of their own.
func ReadMetricsFolded(r io.Reader, folds []Fold, prefixes ...string) (*Metrics, error) {
	p := page{problems: problems{what: "metrics"}}
	all := len(prefixes) == 0
	prefixes = slices.Clone(prefixes)
	for _, f := range folds {
		p.folds = append(p.folds, folding{Fold: f})
		if !all {
			prefixes = append(prefixes, f.Prefix)
		}
	}
	readErr := p.gather(r, prefixes)
	if readErr != nil {
		readErr = fmt.Errorf("reading a metrics page: %w", readErr)
	}
	if p.seen == 0 && readErr == nil {
		return &Metrics{}, p.notMetrics()
	}
	p.unfold()
	m := p.parse()
	return m, errors.Join(append(p.errors(), readErr)...)
}

// page is a metrics page on its way to expfmt.
type page struct {
	problems
	// clean holds the sample lines that are wanted, each ending in a newline.
	clean []byte
	// lines holds the line number on the page for each line of clean.
	lines []int
	// seen counts sample lines; of those that are not wanted only the first, which
	// tells that this is a metrics page.
	seen int
	// folds sum up samples of which there are many.
	folds []folding
	// first is the first line that is neither empty nor a comment.
	first string
}

// gather reads the page line by line and keeps what expfmt can read.
func (p *page) gather(r io.Reader, prefixes []string) error {
	limited := &io.LimitedReader{R: r, N: maxPage + 1}
	in := lineReader{r: bufio.NewReader(limited), max: maxLine}
	for n := 1; ; n++ {
		line, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if limited.N <= 0 {
			p.add(n, "", pageTooLong)
			return nil
		}
		line = bytes.TrimLeft(line, " \t")
		// Comments go: TYPE and UNIT are not used, some of them (info, unknown)
		// would stop expfmt, and HELP is most of a page.
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if p.first == "" {
			p.first = string(line[:min(len(line), 4*maxErrorText)])
		}
		if p.seen == 0 && (line[0] == '<' || len(p.list) == maxErrors) {
			return nil // a page for people, or anything else
		}
		if !whole {
			p.add(n, string(line[:4*maxErrorText]), "line is longer than 64 KiB")
			continue
		}
		if in.torn {
			// The figure may be torn too: 62 of 6282.
			p.add(n, string(line), "page ends in the middle of a line")
			continue
		}
		if p.seen > 0 && !wanted(line, prefixes) {
			continue
		}
		sample, value, problem := cleanSample(line)
		if problem == "" && p.seen == 0 {
			// expfmt tells numbers from words, but it does not see every line.
			if _, err := strconv.ParseFloat(string(value), 64); err != nil {
				problem = "value is not a number"
			}
		}
		if problem != "" {
			p.add(n, string(line), problem)
			continue
		}
		if fold := p.folded(sample); fold != nil {
			if problem := fold.take(sample, value, n); problem != "" {
				p.add(n, string(line), problem)
				continue
			}
			p.seen++
			continue
		}
		p.seen++
		if wanted(sample, prefixes) {
			p.clean = append(append(p.clean, sample...), '\n')
			p.lines = append(p.lines, n)
		}
	}
}

// notMetrics is the error for a page without a single sample.
func (p *page) notMetrics() error {
	if p.first == "" {
		return errors.New("not a metrics page: it holds no sample")
	}
	return fmt.Errorf("not a metrics page: starts with %s", strconv.Quote(shorten(p.first, maxPageStart)))
}

// wanted says whether a sample line's name begins with one of the prefixes.
func wanted(line []byte, prefixes []string) bool {
	name := line
	if line[0] == '{' { // {"a name in quotes",label="value"} 1
		name = bytes.TrimLeft(bytes.TrimLeft(line[1:], " \t"), `"`)
	}
	for _, prefix := range prefixes {
		if len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix {
			return true
		}
	}
	return len(prefixes) == 0
}

// cleanSample cuts a sample line behind its value. What comes after is not used
// and not understood by expfmt: a time stamp in seconds with a fraction, an
// exemplar.
func cleanSample(line []byte) (sample, value []byte, problem string) {
	name := nameLength(line)
	if name == 0 && line[0] != '{' {
		return nil, nil, "not a sample"
	}
	at := name + blanks(line[name:])
	if at < len(line) && line[at] == '{' {
		labels := labelsLength(line[at:])
		if labels == 0 {
			return nil, nil, "labels do not end"
		}
		at += labels
		at += blanks(line[at:])
	} else if at == name {
		return nil, nil, "no value after the name"
	}
	end := at
	for end < len(line) && line[end] != ' ' && line[end] != '\t' {
		end++
	}
	if end == at {
		return nil, nil, "no value after the name"
	}
	rest := line[end:]
	if exemplar := bytes.IndexByte(rest, '#'); exemplar >= 0 {
		rest = rest[:exemplar]
	}
	if rest = bytes.TrimSpace(rest); len(rest) > 0 {
		if _, err := strconv.ParseFloat(string(rest), 64); err != nil {
			return nil, nil, "what follows the value is not a time stamp"
		}
	}
	return line[:end], line[at:end], ""
}

// nameLength is the length of the metric name at the beginning.
func nameLength(line []byte) int {
	for i, c := range line {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return i
		}
	}
	return len(line)
}

func blanks(line []byte) int {
	for i, c := range line {
		if c != ' ' && c != '\t' {
			return i
		}
	}
	return len(line)
}

// labelsLength is the length of the braces at the beginning and what is between
// them, or 0 when they do not close. A brace in quotes is text.
func labelsLength(line []byte) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return 0
}

// parse hands the clean lines to expfmt. It stops at the first line that it
// does not like; that line is told, and it begins again behind it.
func (p *page) parse() *Metrics {
	m := &Metrics{families: map[string]*dto.MetricFamily{}, text: string(p.clean)}
	parser := expfmt.NewTextParser(prommodel.UTF8Validation)
	text, lines := p.clean, p.lines
	for restarts := 0; len(text) > 0; restarts++ {
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		m.merge(families)
		if err == nil {
			break
		}
		var where expfmt.ParseError
		if !errors.As(err, &where) || where.Line < 1 || where.Line > len(lines) || restarts == maxRestarts {
			p.add(lines[0], "", "page cannot be read any further ("+harmless(err.Error())+")")
			break
		}
		var bad []byte
		for range where.Line {
			bad, text, _ = bytes.Cut(text, []byte("\n"))
		}
		p.add(lines[where.Line-1], string(bad), harmless(where.Msg))
		lines = lines[where.Line:]
	}
	for _, f := range m.families {
		for _, s := range f.GetMetric() {
			if _, ok := sampleValue(s); ok {
				m.samples++
			}
		}
	}
	return m
}

func (m *Metrics) merge(families map[string]*dto.MetricFamily) {
	if len(m.families) == 0 {
		m.families = families
		return
	}
	for name, f := range families {
		if have, ok := m.families[name]; ok {
			have.Metric = append(have.Metric, f.GetMetric()...)
			continue
		}
		m.families[name] = f
	}
}
