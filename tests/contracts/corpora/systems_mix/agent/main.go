package main

import (
	"flag"
	"log"
	"time"
)

func main() {
	root := flag.String("root", ".", "folder to back up")
	server := flag.String("server", "localhost:7070", "address of the store")
	interval := flag.Duration("interval", time.Minute, "pause between scans")
	flag.Parse()

	uploader, err := Dial(*server)
	if err != nil {
		log.Fatalf("cannot connect to %s: %v", *server, err)
	}
	defer uploader.Close()

	watcher := NewWatcher(*root, *interval)
	for event := range watcher.Events() {
		if err := uploader.UploadFile(event.Path); err != nil {
			log.Printf("upload of %s failed: %v", event.Path, err)
		}
	}
}
