package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// framesPerSecond is how often bubbletea looks whether something is to be drawn. Its
// usual sixty are half of what an idle screen costs; a key is still answered within
// the twentieth of a second.
const framesPerSecond = 20

// Run shows the screen until the user leaves it, which gives nil, or presses
// ctrl-c, which gives ErrInterrupted, or ctx ends, which gives ctx's error. The
// terminal is then as it was, and no call of the Source is under way.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	drawing, closed := context.WithCancelCause(ctx)
	defer closed(nil)
	polling, stop := context.WithCancel(ctx)
	p := &poller{ctx: polling, source: o.Source, now: o.Now, interval: o.Interval, trouble: o.Keeper.Problem}
	o.Out = watchOutput(o.Out, closed)
	options := []tea.ProgramOption{
		tea.WithContext(drawing), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(),
		tea.WithFPS(framesPerSecond),
	}
	if o.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	_, err := tea.NewProgram(newApp(o, p, renderer(o)), options...).Run()
	stop()
	p.end()
	if cause := context.Cause(drawing); cause != nil && ctx.Err() == nil {
		return fmt.Errorf("drawing the screen: the terminal is gone: %w", cause)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tea.ErrInterrupted):
		return ErrInterrupted
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("drawing the screen: %w", err)
}

// renderer decides on colours for the output. Whether the background is dark was
// asked by bubbletea when the program started; asking again while it reads the
// keyboard would take the answer for keys.
func renderer(o Options) *lipgloss.Renderer {
	r := lipgloss.NewRenderer(o.Out)
	r.SetHasDarkBackground(lipgloss.HasDarkBackground())
	switch o.Color {
	case ColorNever:
		r.SetColorProfile(termenv.Ascii)
	case ColorAlways:
		r.SetColorProfile(min(termenv.ANSI256, r.ColorProfile()))
	}
	return r
}

// poller is the screen's only way to the Source.
type poller struct {
	ctx      context.Context // the screen's life: every call of the Source ends with it
	source   Source
	now      func() time.Time
	interval time.Duration
	trouble  func() (text string, stopped bool) // may be nil

	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup
}

// begin is false once the screen has ended: bubbletea may start a command that
// was asked for just before.
func (p *poller) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.calls.Add(1)
	return true
}

// end waits until nothing of the poller runs, and lets nothing start any more.
func (p *poller) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.calls.Wait()
}
