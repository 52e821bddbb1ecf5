package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// The outputs beside those of kubectl's printers.
const (
	outputTable = ""
	outputWide  = "wide"
	outputName  = "name"
)

// output is how objects are printed.
type output struct {
	flags     *genericclioptions.PrintFlags
	noHeaders bool
}

func newOutput() *output { return &output{flags: genericclioptions.NewPrintFlags("")} }

func (p *output) format() string { return *p.flags.OutputFormat }

// print writes objects of a noun.
func (p *output) print(w io.Writer, of noun, objects []object) error {
	switch p.format() {
	case outputTable, outputWide:
		return p.table(w, objects)
	case outputName:
		for _, o := range objects {
			fmt.Fprintf(w, "%s/%s\n", of.name, textAt(o, []string{"name"}))
		}
		return nil
	}
	printer, err := p.flags.ToPrinter()
	if err != nil {
		return err
	}
	items := make([]any, len(objects))
	for i := range objects {
		items[i] = objects[i]
	}
	list := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kairship.io/v1", "kind": "List", "items": items}}
	return printer.PrintObj(list, w)
}

// table writes a table with the columns that an object has a value for.
func (p *output) table(w io.Writer, objects []object) error {
	now := time.Now()
	var shown []column
	for _, c := range slices.Concat(where, what) {
		if c.wide && p.format() != outputWide {
			continue
		}
		if slices.ContainsFunc(objects, func(o object) bool { return c.value(o, now) != "" }) {
			shown = append(shown, c)
		}
	}
	var headers []string
	for _, c := range shown {
		headers = append(headers, c.header)
	}
	var rows [][]string
	for _, o := range objects {
		var row []string
		for _, c := range shown {
			row = append(row, c.value(o, now))
		}
		rows = append(rows, row)
	}
	return writeTable(w, headers, rows, p.noHeaders)
}

// writeTable writes a table by kubectl's printer.
func writeTable(w io.Writer, headers []string, rows [][]string, noHeaders bool) error {
	table := &metav1.Table{}
	for _, name := range headers {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	for _, row := range rows {
		cells := make([]any, len(row))
		for i, text := range row {
			cells[i] = strings.ReplaceAll(text, "\n", " ")
			if text == "" {
				cells[i] = "<none>"
			}
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return printers.NewTablePrinter(printers.PrintOptions{NoHeaders: noHeaders}).PrintObj(table, w)
}
