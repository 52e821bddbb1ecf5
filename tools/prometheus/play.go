package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v2"
)

// testFile is a file of tests in promtool's format, as far as it is used here.
type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []scene        `yaml:"tests"`
}

type scene struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Input    []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Alerts []expectation `yaml:"alert_rule_test"`
}

type expectation struct {
	At       model.Duration `yaml:"eval_time"`
	Alert    string         `yaml:"alertname"`
	Expected []struct {
		Labels map[string]string `yaml:"exp_labels"`
	} `yaml:"exp_alerts"`
}

// test plays all scenes of a file.
func test(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var tests testFile
	if err := yaml.UnmarshalStrict(raw, &tests); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var groups []group
	for _, name := range tests.RuleFiles {
		rules, err := readRules(filepath.Join(filepath.Dir(file), name))
		if err != nil {
			return err
		}
		groups = append(groups, rules.Groups...)
	}
	var problems []error
	for _, s := range tests.Tests {
		if err := s.play(groups, time.Duration(tests.EvaluationInterval)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", file, s.Name, err))
		}
	}
	return errors.Join(problems...)
}

// play plays a scene from its beginning to the last look at its alerts.
func (s *scene) play(groups []group, every time.Duration) error {
	if every == 0 {
		every = defaultInterval
	}
	memory := &memory{}
	for _, in := range s.Input {
		name, values, err := parser.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Series, err)
		}
		for i, v := range values {
			if !v.Omitted {
				memory.add(name, time.Duration(s.Interval)*time.Duration(i), v.Value)
			}
		}
	}
	looks := map[time.Duration][]expectation{}
	var last time.Duration
	for _, e := range s.Alerts {
		at := time.Duration(e.At)
		looks[at] = append(looks[at], e)
		last = max(last, at)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	defer engine.Close() //nolint:errcheck // The process ends.
	player := &player{engine: engine, memory: memory, pending: map[string]time.Duration{}}
	var problems []error
	for at := time.Duration(0); at <= last; at += every {
		firing, err := player.evaluate(groups, at)
		if err != nil {
			return err
		}
		for _, look := range looks[at] {
			problems = append(problems, look.compare(firing[look.Alert]))
		}
		delete(looks, at)
	}
	for at := range looks {
		problems = append(problems, fmt.Errorf("%s is no multiple of the evaluation interval %s", at, every))
	}
	return errors.Join(problems...)
}

// player evaluates rules as Prometheus does.
type player struct {
	engine *promql.Engine
	memory *memory
	// pending says since when an alert would fire, by alert and labels.
	pending map[string]time.Duration
}

// evaluate evaluates all rules once, and returns the labels of the alerts that fire.
func (p *player) evaluate(groups []group, at time.Duration) (map[string][]labels.Labels, error) {
	firing, seen := map[string][]labels.Labels{}, map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Rules {
			vector, err := p.query(r.Expr, at)
			if err != nil {
				return nil, fmt.Errorf("%s%s: %w", r.Record, r.Alert, err)
			}
			for _, sample := range vector {
				with := labels.NewBuilder(sample.Metric).Del(labels.MetricName)
				for name, value := range r.Labels {
					with.Set(name, value)
				}
				if r.Record != "" {
					p.memory.add(with.Set(labels.MetricName, r.Record).Labels(), at, sample.F)
					continue
				}
				of := with.Labels()
				key := r.Alert + of.String()
				seen[key] = true
				since, known := p.pending[key]
				if !known {
					since = at
					p.pending[key] = at
				}
				if at-since >= time.Duration(r.For) {
					firing[r.Alert] = append(firing[r.Alert], of)
				}
			}
		}
	}
	maps.DeleteFunc(p.pending, func(key string, _ time.Duration) bool { return !seen[key] })
	return firing, nil
}

func (p *player) query(expression string, at time.Duration) (promql.Vector, error) {
	query, err := p.engine.NewInstantQuery(context.Background(), p.memory, nil, expression, start.Add(at))
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	vector, err := result.Vector()
	return slices.Clone(vector), err
}

// compare returns what fires and should not, or the other way round.
func (e expectation) compare(firing []labels.Labels) error {
	var want, got []string
	for _, expected := range e.Expected {
		want = append(want, labels.FromMap(expected.Labels).String())
	}
	for _, of := range firing {
		got = append(got, of.String())
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("after %s %s fires for\n  %s\nwant\n  %s", time.Duration(e.At), e.Alert, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
}
