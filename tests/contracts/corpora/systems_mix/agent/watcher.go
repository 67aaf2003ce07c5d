package main

import (
	"io/fs"
	"path/filepath"
	"time"
)

// Event says that a file is new or was modified.
type Event struct {
	Path     string
	Modified time.Time
}

// Watcher scans a folder at an interval; it does not depend on inotify.
type Watcher struct {
	root     string
	interval time.Duration
	seen     map[string]time.Time
	events   chan Event
}

// NewWatcher starts scanning in the background.
func NewWatcher(root string, interval time.Duration) *Watcher {
	watcher := &Watcher{root: root, interval: interval, seen: map[string]time.Time{}, events: make(chan Event)}
	go watcher.run()
	return watcher
}

// Events delivers changes in the order they were found.
func (w *Watcher) Events() <-chan Event {
	return w.events
}

func (w *Watcher) run() {
	for {
		w.scan()
		time.Sleep(w.interval)
	}
}

func (w *Watcher) scan() {
	filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if modified := info.ModTime(); modified.After(w.seen[path]) {
			w.seen[path] = modified
			w.events <- Event{Path: path, Modified: modified}
		}
		return nil
	})
}
