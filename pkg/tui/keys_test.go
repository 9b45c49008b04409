package tui

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/bubbles/key"
)

// The help page is made of the key map and leaves no key out.
func TestHelpIsComplete(t *testing.T) {
	keys := newKeys()
	helped := map[string]bool{}
	for _, g := range keys.groups() {
		for _, b := range g.keys {
			helped[b.Help().Key+" "+b.Help().Desc] = true
		}
	}
	v := reflect.ValueOf(keys)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		help := v.Field(i).FieldByName("help")
		id := help.FieldByName("Key").String() + " " + help.FieldByName("Desc").String()
		if v.Field(i).Type() != reflect.TypeFor[key.Binding]() || !helped[id] {
			t.Errorf("%s (%s) is not on the help page", name, id)
		}
	}
}
