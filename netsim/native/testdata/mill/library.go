package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"sync"
	"text/template"
	"time"
	_ "time/tzdata"
)

type order struct {
	ID    int               `json:"id"`
	Items []string          `json:"items"`
	Tags  map[string]string `json:"tags,omitempty"`
	Next  *order            `json:"next,omitempty"`
	At    time.Time         `json:"at"`
	Any   any               `json:"any"`
}

func makeOrder(i int) *order {
	o := &order{ID: i, Items: []string{"a", "b\n", "ü"}, Tags: map[string]string{}, At: time.Now(), Any: []any{1, "x", nil, map[string]any{"k": 1.5}}}
	for j := range i % 9 {
		o.Tags[fmt.Sprint("tag", j)] = fmt.Sprint(j * i)
	}
	if i%4 > 0 {
		o.Next = makeOrder(i - 1)
	}
	return o
}

// text encodes, compresses, matches and formats.
func text([]string) error {
	var out flour
	for i := range 60 {
		b, err := json.Marshal(makeOrder(i))
		if err != nil {
			return err
		}
		var back order
		if err := json.Unmarshal(b, &back); err != nil {
			return err
		}
		var zipped, gobbed bytes.Buffer
		w := gzip.NewWriter(&zipped)
		w.Write(b)
		w.Close()
		if err := gob.NewEncoder(&gobbed).Encode(back.Tags); err != nil {
			return err
		}
		out.add(string(b), zipped.Bytes(), gobbed.Len(), crc32.ChecksumIEEE(b), regexp.MustCompile(`"(\w+)":(\d+)`).FindAllString(string(b), -1))
	}
	t := template.Must(template.New("t").Parse("{{range $k, $v := .Tags}}{{$k}}={{$v}};{{end}}\n"))
	if err := t.Execute(os.Stdout, makeOrder(8)); err != nil {
		return err
	}
	fmt.Println("order", out.sum())
	return nil
}

// sums checks what the overlay makes of the tables of CRC-32C: sums of long texts use them, those of short ones do not.
func sums([]string) error {
	table := crc32.MakeTable(crc32.Castagnoli)
	for size := 1; size < 1<<16; size = size*3 + 1 {
		b, pieces := make([]byte, size), uint32(0)
		for i := range b {
			b[i] = byte(i * i >> 3)
		}
		for at := 0; at < size; at += 100 {
			pieces = crc32.Update(pieces, table, b[at:min(at+100, size)])
		}
		if whole := crc32.Checksum(b, table); whole != pieces {
			return fmt.Errorf("CRC-32C of %d bytes is %08x, in pieces %08x", size, whole, pieces)
		}
	}
	fmt.Printf("%08x\n", crc32.Checksum([]byte("123456789"), table))
	return nil
}

// secrets draws from every generator.
func secrets([]string) error {
	b := make([]byte, 1000)
	rand.Read(b)
	fmt.Printf("read %x\n", b[:16])
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	fmt.Printf("ed25519 %x\n", ed25519.Sign(private, public)[:8])
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	fmt.Printf("x25519 %x\n", key.PublicKey().Bytes())
	fmt.Println("math", mathrand.Uint64(), mathrand.Perm(10), rand.Text())
	fmt.Println("maphash", maphash.Comparable(maphash.MakeSeed(), [2]string{"a", "b"}))
	return nil
}

// files writes and reads tens of megabytes, in pieces of many sizes, from several goroutines.
func files([]string) error {
	f, err := os.Create("/big")
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var out flour
	for i := range 4 {
		all.Go(func() {
			b := bytes.Repeat([]byte{byte('a' + i)}, 1<<20+1000*i)
			for j := range 4 {
				n, err := f.WriteAt(b, int64(j*4+i)<<20)
				mu.Lock()
				out.add(i, j, n, err)
				mu.Unlock()
			}
			if err := f.Sync(); err != nil {
				fmt.Println("error:", err)
			}
		})
	}
	all.Wait()
	b, err := os.ReadFile("/big")
	if err != nil {
		return err
	}
	fmt.Println("size", len(b), "sum", crc32.ChecksumIEEE(b), "order", out.sum())
	for i := range 300 {
		dir := fmt.Sprintf("/tree/%d", i%10)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), b[:i], 0o644); err != nil {
			return err
		}
	}
	return filepath.Walk("/tree", func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		out.add(path, info.Size(), info.ModTime())
		if info.Size()%50 == 0 {
			fmt.Println(path, out.sum(), os.Rename(path, path+".old"), os.Truncate("/big", info.Size()))
		}
		return nil
	})
}

// serve ADDR answers HTTP.
func serve(args []string) error {
	var mu sync.Mutex
	seen := map[string]int{}
	http.HandleFunc("/add", func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		seen[r.RemoteAddr]++
		n := len(seen)
		mu.Unlock()
		fmt.Println("add", o.ID, r.RemoteAddr, n)
		w.Header().Set("Connections", fmt.Sprint(n))
		json.NewEncoder(w).Encode(o.Tags)
		io.WriteString(w, string(bytes.Repeat([]byte("x"), o.ID*100)))
	})
	return http.ListenAndServe(args[0], nil)
}

// ask ADDR sends requests from several goroutines, each with a time limit.
func ask(args []string) error {
	client := &http.Client{Timeout: 700 * time.Millisecond}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 15 {
				b, _ := json.Marshal(makeOrder(10*i + j))
				resp, err := client.Post("http://"+args[0]+"/add", "application/json", bytes.NewReader(b))
				if err != nil {
					var timeout net.Error
					fmt.Println("failed", i, j, errors.As(err, &timeout) && timeout.Timeout(), err)
					continue
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				fmt.Println("got", i, j, resp.Status, resp.Header["Connections"], resp.Header["Date"], len(body), err)
				time.Sleep(time.Duration(20+i) * time.Millisecond)
			}
		})
	}
	all.Wait()
	return nil
}

// zones shows the time around the world.
func zones([]string) error {
	names := []string{"UTC", "Local", "Europe/Zurich", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Nowhere/None"}
	sort.Strings(names)
	for i, name := range names {
		where, err := time.LoadLocation(name)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		now := time.Now()
		fmt.Println(name, now.In(where).Format(time.RFC3339Nano), now.AddDate(0, 6+i, 0).In(where), now.Location(), now.Unix())
	}
	return nil
}
