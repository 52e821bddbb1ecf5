// Package graphql sends operations to Kairship, as a program of a user does.
package graphql

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Client sends operations as one user.
type Client struct {
	// URL is where Kairship is served.
	URL   string
	token string
	http  *http.Client
}

// answerPatience is how long an answer may take.
const answerPatience = 30 * time.Second

// New makes a client from the files with the certificate authority and the token.
func New(url, caFile, tokenFile string) (*Client, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &Client{URL: url, token: strings.TrimSpace(string(token)), http: &http.Client{Transport: transport, Timeout: answerPatience}}, nil
}

// Error is an error of an answer.
type Error struct {
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code     string `json:"code"`
		Argument string `json:"argument"`
	} `json:"extensions"`
}

// Errors are the errors of an answer.
type Errors []Error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = fmt.Sprintf("%s: %s", one.Extensions.Code, one.Message)
		if one.Extensions.Argument != "" {
			texts[i] += " (" + one.Extensions.Argument + ")"
		}
	}
	return strings.Join(texts, "; ")
}

// Has reports whether one of the errors has the code.
func (e Errors) Has(code string) bool {
	for _, one := range e {
		if one.Extensions.Code == code {
			return true
		}
	}
	return false
}

// Do sends an operation and reads the data of the answer into data. Errors beside data are an error too.
func (c *Client) Do(ctx context.Context, query string, variables map[string]any, data any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	content, err := c.send(request)
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors Errors          `json:"errors"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return fmt.Errorf("%s answers with something else than GraphQL: %.200s", c.URL, content)
	}
	if len(answer.Errors) > 0 {
		return answer.Errors
	}
	return json.Unmarshal(answer.Data, data)
}

// Get reads a page, such as that of the console.
func (c *Client) Get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, http.NoBody)
	if err != nil {
		return "", err
	}
	content, err := c.send(request)
	return string(content), err
}

func (c *Client) send(request *http.Request) ([]byte, error) {
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		err = fmt.Errorf("%s answers with %s: %.200s", request.URL, response.Status, content)
	}
	return content, err
}
