// Package excerpt shortens what others say, so that it fits into a message.
package excerpt

import "strings"

// Of returns a text on one line, and no more than its first characters, with an ellipsis for the rest.
func Of(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most])) + "…"
	}
	return text
}
