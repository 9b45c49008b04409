package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

// screenOptions say how the screen is drawn.
type screenOptions struct {
	color   string
	ascii   bool
	mouse   bool
	columns []string

	asciiGiven bool
}

func (o *screenOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.color, "color", "auto", "Colour on the screen: auto (what the terminal can, and NO_COLOR), always or never")
	f.BoolVar(&o.ascii, "ascii", false, "Draw with ASCII characters alone (by itself where the locale is not UTF-8)")
	f.BoolVar(&o.mouse, "mouse", false, "Take the mouse from the start; the terminal then no longer selects text with it (ctrl-t switches)")
	f.StringSliceVar(&o.columns, "columns", nil, "Columns of the list by their titles, as in NODE,WAIT (c chooses on the screen)")
	c.PreRun = func(c *cobra.Command, _ []string) { o.asciiGiven = c.Flags().Changed("ascii") }
}

func (o *screenOptions) validate() error {
	if !slices.Contains([]string{"auto", "always", "never"}, o.color) {
		return usageError{fmt.Errorf("--color must be auto, always or never, not %q", o.color)}
	}
	return nil
}

// fill puts the options into those of the screen.
func (o *screenOptions) fill(s *tui.Options, w world) {
	switch o.color {
	case "always":
		s.Color = tui.ColorAlways
	case "never":
		s.Color = tui.ColorNever
	}
	s.Mouse, s.Columns = o.mouse, o.columns
	s.ASCII = o.ascii || !o.asciiGiven && !utf8Locale(w)
}

// utf8Locale says whether the terminal takes more than ASCII. Where no locale is set
// at all, as in most containers, it nearly always does.
func utf8Locale(w world) bool {
	if term := w.getenv("TERM"); term == "linux" || term == "dumb" || strings.HasPrefix(term, "vt") {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(w.getenv(name)); v != "" {
			return strings.Contains(v, "utf")
		}
	}
	return true
}
