package parse

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// As nginx 1.22.1 prints it, with a blank behind each line.
const stubStatus = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630946 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n"

func TestReadStubStatus(t *testing.T) {
	want := StubStatus{Active: 291, Accepts: 16630948, Handled: 16630946, Requests: 31070465}
	for name, page := range map[string]string{
		"nginx":           stubStatus,
		"carriage return": strings.ReplaceAll(stubStatus, "\n", "\r\n"),
		"Tengine":         "Active connections: 291 \nserver accepts handled requests request_time\n 16630948 16630946 31070465 99 \nReading: 6",
		"cut off behind":  stubStatus[:strings.Index(stubStatus, "Reading")],
	} {
		if got, err := ReadStubStatus([]byte(page)); err != nil || got != want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestReadStubStatusOfOtherPages(t *testing.T) {
	for page, want := range map[string]string{
		"":                         `stub_status line 1: not a page of stub_status`,
		"<html>\x1b[31m no":        `stub_status line 1: not a page of stub_status: "<html>`,
		"Active connections: -1\n": `stub_status line 1: active connections are not a number: "Active connections: -1"`,
		stubStatus[:60]:            "not as many figures as names",
		"Active connections: 1\nserver accepts handled requests\n1 2 3": "more connections were handled than accepted",
		"Active connections: 1\nserver accepts handled\n1 1":            "not all there",
		"Active connections: 1\nserver accepts handled requests\n1 x 3": "handled is not a number",
		"Active connections: 1" + strings.Repeat("\n", maxStubStatus):   "a page of 4117 bytes is none of nginx's",
	} {
		if _, err := ReadStubStatus([]byte(page)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", page, err, want)
		}
	}
}

// Workers and how busy they are do not stand there: that is unknown, never 0.
func TestReadStubStatusRuntime(t *testing.T) {
	r, err := ReadStubStatusRuntime([]byte(stubStatus))
	if err != nil || r.Accepts != model.Known[int64](16630948) || r.Handled != model.Known[int64](16630946) || r.Requests != model.Known[int64](31070465) {
		t.Errorf("%+v %v", r, err)
	}
	if r.Workers.IsKnown() || r.Workers.Reason() == "" || r.Clock.IsKnown() || r.Window.Busy.IsKnown() {
		t.Errorf("%+v", r)
	}
	if _, err := ReadStubStatusRuntime(nil); err == nil {
		t.Error("no page is no error")
	}
}

func FuzzReadStubStatus(f *testing.F) {
	f.Add([]byte(stubStatus))
	f.Add([]byte("Active connections: 1\nserver accepts handled requests\n1 1 1\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		s, err := ReadStubStatus(page)
		if err == nil && (s.Active < 0 || s.Handled < 0 || s.Requests < 0 || s.Accepts < s.Handled) {
			t.Errorf("%+v", s)
		}
		if err != nil && len(err.Error()) > 4*maxErrorText+100 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
