package tui

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Each key of the key map is pressed by some test: one that does nothing any more must
// not go unnoticed.
func TestEveryKeyIsPressedByATest(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	pressed := map[string]bool{}
	calls := regexp.MustCompile(`(?:press|pressAnd|keyNamed|key)\([^\n]*|\{"[^\n]*|:= range \[\]string\{[^\n]*|keys, "[^\n]*|rune\{'[^\n]*`)
	literal := regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "keys_test.go" || file == "everykey_test.go" {
			continue
		}
		for _, call := range calls.FindAllString(string(text), -1) {
			for _, m := range literal.FindAllStringSubmatch(call, -1) {
				pressed[m[1]] = true
			}
		}
	}
	keys := newKeys()
	v := reflect.ValueOf(keys)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		list := v.Field(i).FieldByName("keys")
		found := false
		var all []string
		for j := range list.Len() {
			k := list.Index(j).String()
			all = append(all, k)
			found = found || pressed[k]
		}
		if !found {
			t.Errorf("no test presses %s (%s)", name, strings.Join(all, ", "))
		}
	}
}
