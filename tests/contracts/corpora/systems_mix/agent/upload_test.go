package main

import (
	"net"
	"testing"
)

func TestWriteFrameHasLengthAndKind(t *testing.T) {
	client, server := net.Pipe()
	go writeFrame(client, framePut, []byte("abc"))
	header := make([]byte, 5)
	if _, err := server.Read(header); err != nil {
		t.Fatal(err)
	}
	if header[3] != 3 || header[4] != framePut {
		t.Fatalf("unexpected header %v", header)
	}
}
