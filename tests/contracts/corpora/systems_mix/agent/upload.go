package main

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"
)

const (
	maxBusy     = 5
	maxInFlight = 16
	busyPause   = 200 * time.Millisecond
)

// ErrBusy is returned when the server asked to wait too often.
var ErrBusy = errors.New("server is busy, giving up")

// Uploader sends chunks over one connection.
type Uploader struct {
	conn     net.Conn
	inFlight int
}

// Dial connects and performs the handshake.
func Dial(address string) (*Uploader, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &Uploader{conn: conn}, nil
}

// UploadFile sends a file as one chunk and waits for its acknowledgement.
func (u *Uploader) UploadFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for busy := 0; busy < maxBusy; busy++ {
		accepted, err := u.put(data)
		if err != nil {
			return err
		}
		if accepted {
			return nil
		}
		time.Sleep(busyPause << busy)
	}
	return ErrBusy
}

// Close ends the connection.
func (u *Uploader) Close() error {
	return u.conn.Close()
}

func (u *Uploader) put(data []byte) (bool, error) {
	if err := writeFrame(u.conn, framePut, data); err != nil {
		return false, err
	}
	var reply [1]byte
	if _, err := u.conn.Read(reply[:]); err != nil {
		return false, err
	}
	return reply[0] == frameAck, nil
}

func writeFrame(conn net.Conn, kind byte, payload []byte) error {
	header := make([]byte, 5)
	binary.BigEndian.PutUint32(header, uint32(len(payload)))
	header[4] = kind
	if _, err := conn.Write(header); err != nil {
		return err
	}
	_, err := conn.Write(payload)
	return err
}
