package tui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

var fuzzKeys = []string{
	"up", "down", "left", "right", "enter", "esc", "pgup", "pgdown", "home", "end", "space", "backspace", "tab", "ctrl+v",
	"g", "G", "j", "k", "/", "s", "r", "p", "?", "w", "e", "b", "0", "大", "jjj", "f", "a", "c", "h", "l", "ctrl+t",
	"1", "2", "3", "4", "5", "6", "x", "<", ">", "-", "=", "n", "y", "C", "m", "M", "R", "W", "E", "[", "}", ",", ".",
}

// play feeds the screen with what the bytes say: keys, sizes, snapshots with
// pods missing, errors, ticks. The view must fit after every single step.
func play(t testing.TB, data []byte) {
	a := screen(t, 80, 24)
	now := noon
	second := 0
	for i := 0; i+1 < len(data); i += 2 {
		what, n := data[i], int(data[i+1])
		switch what % 9 {
		case 0, 1, 2, 3:
			press(a, fuzzKeys[n%len(fuzzKeys)])
		case 4:
			a.Update(tea.WindowSizeMsg{Width: n, Height: int(what) * n % 61})
		case 5:
			second += 1 + n%7
			s := everyKind(second)
			kept := s.Pods[:0]
			for j, p := range s.Pods {
				if n>>(j%8)&1 == 0 {
					kept = append(kept, p)
				}
			}
			s.Pods = kept
			if n%3 == 0 {
				s.Pods = append(s.Pods, fleet(second).Pods[n%40:]...)
			}
			for j := range s.Pods {
				s.Pods[j].Meta.Namespace = fmt.Sprintf("ns-%d", j%(1+n%8))
			}
			now = s.Time
			deliver(a, s)
		case 6:
			a.Update(snapshotMsg{seq: a.polls, err: errors.New(evil), at: now})
		case 8:
			a.Update(tea.MouseMsg{X: n, Y: int(what), Button: tea.MouseButton(n % 8), Action: tea.MouseActionPress})
		case 7:
			now = now.Add(time.Duration(n) * time.Second)
			a.Update(clockMsg{seq: a.ticks, at: now})
		}
		fits(t, a)
	}
}

func FuzzScreen(f *testing.F) {
	f.Add([]byte{5, 0, 0, 1, 4, 60, 0, 4, 7, 9})
	f.Add([]byte{5, 0, 0, 18, 0, 23, 4, 3, 5, 255, 0, 22, 4, 0, 0, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		play(t, data[:min(len(data), 400)])
	})
}

// TestRandomSessions is the fuzz target on a few seeded sessions, for every run.
func TestRandomSessions(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		play(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Every size of terminal down to one cell must work on every page.
func TestEverySize(t *testing.T) {
	a := screen(t, 80, 24)
	watchFleet(a, 5)
	watch(a, 12)
	for _, page := range []string{"esc", "c", "a", "esc", "enter", "?"} {
		press(a, page)
		for _, w := range []int{1, 2, 9, 17, 30, 49, 56, 66, 72, 84, 99, 112, 126, 141, 170, 230} {
			for _, h := range []int{1, 2, 3, 5, 8, 17, 33, 60} {
				a.Update(tea.WindowSizeMsg{Width: w, Height: h})
				fits(t, a)
			}
		}
	}
}
