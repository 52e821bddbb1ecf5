package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v2"
)

// ruleFile is a file of rules, as far as it is used here.
type ruleFile struct {
	Groups []group `yaml:"groups"`
}

type group struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval,omitempty"`
	Rules    []rule         `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         model.Duration    `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// readRules reads a file of rules strictly, and makes sure that they can be used.
func readRules(file string) (*ruleFile, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rules ruleFile
	if err := yaml.UnmarshalStrict(raw, &rules); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	alerts := map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			switch {
			case (r.Record == "") == (r.Alert == ""):
				return nil, fmt.Errorf("%s: group %s: a rule either records or alerts", file, g.Name)
			case r.Record != "" && !model.LegacyValidation.IsValidMetricName(r.Record):
				return nil, fmt.Errorf("%s: %q is no name of a metric", file, r.Record)
			case r.Alert != "" && (r.Labels["severity"] == "" || r.Annotations["summary"] == "" || alerts[r.Alert]):
				return nil, fmt.Errorf("%s: alert %s needs a name of its own, a severity and a summary", file, r.Alert)
			}
			alerts[r.Alert] = r.Alert != ""
		}
	}
	return &rules, nil
}

// expressionsOf are the expressions of a file. What rules record is added to recorded.
func expressionsOf(file string, recorded map[string]bool) ([]string, error) {
	if strings.HasSuffix(file, ".json") {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var dashboard any
		if err := json.Unmarshal(raw, &dashboard); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return panels(dashboard), nil
	}
	rules, err := readRules(file)
	if err != nil {
		return nil, err
	}
	var expressions []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			expressions = append(expressions, r.Expr)
			recorded[r.Record] = true
		}
	}
	return expressions, nil
}

// variables are Grafana's own, and what stands for them where expressions are parsed.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h")

// panels finds the expressions anywhere in a dashboard.
func panels(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok && key == "expr" {
				found = append(found, variables.Replace(text))
				continue
			}
			found = append(found, panels(value)...)
		}
	case []any:
		for _, value := range v {
			found = append(found, panels(value)...)
		}
	}
	return found
}

// metricsIn adds the metrics that an expression names.
func metricsIn(expression string, named map[string]bool) error {
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok && selector.Name != "" {
			named[selector.Name] = true
		}
		return nil
	})
	return nil
}

const defaultInterval = time.Minute
