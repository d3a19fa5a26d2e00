// Command counter is the example of the README: a server that counts, and clients that ask it to.
//
//	counter serve :7000
//	counter add counter-host:7000
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Println("usage: counter serve|add ADDR")
		os.Exit(3)
	}
	if os.Args[1] == "serve" {
		var n atomic.Int64
		l, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, n.Add(1)) })))
		return
	}
	client := http.Client{Timeout: time.Second}
	for i := range 10 {
		fmt.Println("request", i, "count", ask(&client, "http://"+os.Args[2]))
		time.Sleep(500 * time.Millisecond)
	}
}

// ask returns the count, or what went wrong.
func ask(client *http.Client, url string) string {
	r, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
