package changes

import (
	"strconv"
	"testing"
)

func TestTell(t *testing.T) {
	memory := newDelivered()
	for _, step := range []struct {
		name  string
		event Event[string]
		read  string
		want  bool
	}{
		{"what there is", Event[string]{Type: Added, key: "a"}, "1", true},
		{"the same again", Event[string]{Type: Modified, key: "a", compare: true}, "1", false},
		{"the same of another object", Event[string]{Type: Modified, key: "b", compare: true}, "1", true},
		{"something else", Event[string]{Type: Modified, key: "a", compare: true}, "2", true},
		{"a field that needs no reading changed", Event[string]{Type: Modified, key: "a"}, "3", true},
		{"back to what was told before the last", Event[string]{Type: Modified, key: "a", compare: true}, "2", true},
		{"it goes", Event[string]{Type: Deleted, key: "a"}, "2", true},
		{"it comes back", Event[string]{Type: Modified, key: "a", compare: true}, "2", true},
		{"a marker", Event[string]{Type: Synced}, "", true},
	} {
		step.event.delivered = memory
		if got := step.event.ShouldSend([]byte(step.read)); got != step.want {
			t.Errorf("%s: got %v", step.name, got)
		}
	}
	unreadable := Event[string]{Type: Modified, key: "b", compare: true, delivered: memory}
	if !unreadable.ShouldSend(nil) || !unreadable.ShouldSend([]byte("1")) {
		t.Error("what could not be read is told, and told again when it can be")
	}
}

// A stream keeps a bounded number of hashes, and sends the changes of all other objects.
func TestDeliveredIsBounded(t *testing.T) {
	memory := newDelivered()
	for i := range maxDelivered + 10 {
		memory.update(strconv.Itoa(i), nil)
	}
	if len(memory.last) != maxDelivered {
		t.Errorf("%d are remembered", len(memory.last))
	}
	if !memory.update(strconv.Itoa(maxDelivered+5), nil) || memory.update("5", nil) {
		t.Error("what is remembered is no news, and what is not is")
	}
}

func TestSelectionTells(t *testing.T) {
	for _, tt := range []struct {
		name          string
		selection     Selection
		changed       []string
		tell, compare bool
	}{
		{"nothing changed that the API shows", Selection{Carried: []string{"state"}, Read: true}, nil, false, false},
		{"a selected field", Selection{Carried: []string{"state"}}, []string{"labels", "state"}, true, false},
		{"another field", Selection{Carried: []string{"state"}}, []string{"labels"}, false, false},
		{"another field, and some are read", Selection{Carried: []string{"state"}, Read: true}, []string{"labels"}, true, true},
		{"nothing is selected", Selection{}, []string{"state"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tell, compare := tt.selection.sends(tt.changed); tell != tt.tell || compare != tt.compare {
				t.Errorf("got %v, %v", tell, compare)
			}
		})
	}
}
