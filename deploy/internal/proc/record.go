// Package proc starts, watches and stops the fleet's processes, and knows them again later: a
// process is recorded by its pid together with its start time, so that a recycled pid is never
// mistaken for it.
package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// Record is what is written down of a started process.
type Record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// StartTicks is field 22 of /proc/<pid>/stat: clock ticks between the boot and the start.
	StartTicks uint64 `json:"startTicks"`
	// Program is the first argument, as /proc/<pid>/cmdline shows it.
	Program string    `json:"program"`
	Started time.Time `json:"started"`
}

// Records is the folder with one file per process.
type Records struct{ Dir string }

// save writes a record down, replacing an older one of the same name.
func (r Records) save(record Record) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temp := filepath.Join(r.Dir, "."+record.Name+".new")
	if err := os.WriteFile(temp, append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(r.Dir, record.Name))
}

// Load reads one record; ok is false when there is none.
func (r Records) Load(name string) (record Record, ok bool, err error) {
	content, err := os.ReadFile(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	if err := json.Unmarshal(content, &record); err != nil {
		return Record{}, false, fmt.Errorf("the pid record %s is damaged (%w): find the process with `ps`, stop it and remove the file", filepath.Join(r.Dir, name), err)
	}
	return record, true, nil
}

// Remove forgets a process.
func (r Records) Remove(name string) error {
	err := os.Remove(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Names lists the recorded processes, sorted.
func (r Records) Names() ([]string, error) {
	entries, err := os.ReadDir(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, nil
}

// Running returns the record of a process that is alive. A record whose process has ended, or whose
// pid belongs to another process now, counts as not running.
func (r Records) Running(name string) (Record, bool, error) {
	record, ok, err := r.Load(name)
	if err != nil || !ok {
		return Record{}, false, err
	}
	return record, Alive(record), nil
}
