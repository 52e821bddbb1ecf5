// Command prometheus checks rules for Prometheus and panels of Grafana.
//
//	prometheus names FILE...   prints which metrics the expressions of rule files
//	                           (YAML) and dashboards (JSON) name, one in each line
//	prometheus test FILE...    plays the tests of rules, in the format of promtool
//
// It fails where an expression does not parse, and where an alert is not what its
// test says.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: prometheus names|test FILE...")
	}
	switch args[0] {
	case "names":
		return names(args[1:])
	case "test":
		var problems []error
		for _, file := range args[1:] {
			problems = append(problems, test(file))
		}
		return errors.Join(problems...)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// names prints the metrics that files name, but for those that rules record.
func names(files []string) error {
	named, recorded := map[string]bool{}, map[string]bool{}
	var problems []error
	for _, file := range files {
		expressions, err := expressionsOf(file, recorded)
		problems = append(problems, err)
		for _, e := range expressions {
			err := metricsIn(e, named)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", file, err))
			}
		}
	}
	var all []string
	for name := range named {
		if !recorded[name] {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	for _, name := range all {
		fmt.Println(name)
	}
	return errors.Join(problems...)
}
