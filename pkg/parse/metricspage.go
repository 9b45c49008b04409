package parse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"
)

// maxPage bounds a metrics page. Envoy's largest have a few MB.
const maxPage = 32 << 20

// errPageSize is what reading a page beyond the bound ends with.
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
	p := page{problems: problems{what: "metrics"}}
	readErr := p.gather(r, prefixes)
	if readErr != nil {
		readErr = fmt.Errorf("reading a metrics page: %w", readErr)
	}
	if p.notMetrics != nil {
		return &Metrics{}, errors.Join(readErr, p.notMetrics)
	}
	if p.seen == 0 && readErr == nil && len(p.list) == 0 {
		return &Metrics{}, errors.New("not a metrics page: it holds no sample")
	}
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
	// seen counts the sample lines, wanted or not.
	seen       int
	notMetrics error
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
		if !whole {
			p.add(n, string(line[:4*maxErrorText]), "line is longer than 64 KiB")
			continue
		}
		if in.torn {
			// The figure may be torn too: 62 of 6282.
			p.add(n, string(line), "page ends in the middle of a line")
			continue
		}
		sample, problem := cleanSample(line)
		if problem != "" {
			if p.seen == 0 && !plausible(line) {
				p.notMetrics = fmt.Errorf("not a metrics page: starts with %s", strconv.Quote(shorten(string(line[:min(len(line), 400)]), 40)))
				return nil
			}
			p.add(n, string(line), problem)
			continue
		}
		p.seen++
		if wanted(sample, prefixes) {
			p.clean = append(append(p.clean, sample...), '\n')
			p.lines = append(p.lines, n)
		}
	}
}

// plausible says whether a malformed first line may still be of a metrics page.
func plausible(line []byte) bool {
	return nameLength(line) > 0 && bytes.IndexByte(line, ' ') >= nameLength(line)
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
func cleanSample(line []byte) (sample []byte, problem string) {
	at := nameLength(line)
	if at == 0 && line[0] != '{' {
		return nil, "not a sample"
	}
	at += blanks(line[at:])
	if at < len(line) && line[at] == '{' {
		labels := labelsLength(line[at:])
		if labels == 0 {
			return nil, "labels do not end"
		}
		at += labels
		at += blanks(line[at:])
	} else if at == nameLength(line) {
		return nil, "no value after the name"
	}
	end := at
	for end < len(line) && line[end] != ' ' && line[end] != '\t' {
		end++
	}
	if end == at {
		return nil, "no value after the name"
	}
	rest, _, _ := strings.Cut(string(bytes.TrimSpace(line[end:])), "#")
	if rest = strings.TrimSpace(rest); rest != "" {
		if _, err := strconv.ParseFloat(rest, 64); err != nil {
			return nil, "what follows the value is not a time stamp"
		}
	}
	return line[:end], ""
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
	m := &Metrics{families: map[string]*dto.MetricFamily{}}
	parser := expfmt.NewTextParser(prommodel.UTF8Validation)
	text, lines := p.clean, p.lines
	for len(text) > 0 {
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		m.merge(families)
		if err == nil {
			break
		}
		var where expfmt.ParseError
		if !errors.As(err, &where) || where.Line < 1 || where.Line > len(lines) || len(p.list) >= maxErrors {
			p.add(lines[0], "", "page cannot be read any further ("+shorten(err.Error(), maxErrorText)+")")
			break
		}
		var bad []byte
		for range where.Line {
			bad, text, _ = bytes.Cut(text, []byte("\n"))
		}
		p.add(lines[where.Line-1], string(bad), where.Msg)
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
