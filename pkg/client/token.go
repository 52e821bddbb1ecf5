package client

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Token is a source of one token.
func Token(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile is a source that reads a file for each request: tokens of service accounts are replaced while a program runs.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
}
