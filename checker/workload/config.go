package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trialog/core/client"
)

// Roles.
const (
	Producer = "producer"
	Reader   = "reader"
	Admin    = "admin"
)

// ErrNotDrained says that the final read-back did not end in time, or that the history could not be written: nothing
// may be concluded from what is missing.
var ErrNotDrained = errors.New("workload: not drained")

// Config is one process of a workload.
type Config struct {
	Name       string   // "c1": names its values and its lines of the history
	Role       string   // Producer, Reader or Admin
	Bootstrap  []string // host:port
	Topic      string
	Partitions int32  // of the topic: it is created with so many if it does not exist
	Seed       uint64 // of all draws

	Start       time.Duration // how long the world had run when this process began; the next two count from the world's start
	Work        time.Duration // when the work ends and nothing new is sent
	FinalAt     time.Duration // when the final read-back begins: no producer may have anything in flight then
	FinalWithin time.Duration // how long it may take
	Count       int           // ends the work after so many operations; 0: by the clock only

	PauseMin, PauseMax time.Duration // between the beginnings of two operations, if the first has ended by then
	BatchMax           int           // records of one batch: 1 to BatchMax
	Keys               int           // records have one of so many keys, which begins their value; 0: no keys
	ValueMin, ValueMax int           // bytes of a record's value, more if its name needs more

	Acks            int           // -1 (all), 1 or 0
	Idempotent      bool          // sequence numbers under a producer id
	Retries         int           // of a produce; -1: as many as fit in DeliveryTimeout
	InFlight        int           // batches that a producer has in flight
	Compression     string        // of a producer's batches: none, gzip, snappy, lz4 or zstd
	FetchWait       time.Duration // how long a fetch waits for records at the end of a partition
	RequestTimeout  time.Duration // of one request
	DeliveryTimeout time.Duration // of a produce with all its retries
}

// Defaults is the configuration that flags begin with.
func Defaults() Config {
	return Config{
		Role: Producer, Topic: "t", Partitions: 3, Seed: 1,
		Work: 20 * time.Second, FinalWithin: 30 * time.Second,
		PauseMin: 10 * time.Millisecond, PauseMax: 120 * time.Millisecond,
		BatchMax: 5, ValueMin: 100, ValueMax: 500,
		Acks: -1, InFlight: 1, Compression: "none",
		FetchWait:      250 * time.Millisecond,
		RequestTimeout: 2 * time.Second, DeliveryTimeout: 8 * time.Second,
	}
}

// withDefaults fills in what follows from other fields and refuses what makes no sense.
func (c Config) withDefaults() (Config, error) {
	if c.FinalAt == 0 {
		c.FinalAt = c.Work + c.DeliveryTimeout + time.Second // no batch leaves after its delivery timeout
	}
	if c.Idempotent && c.Retries == 0 {
		c.Retries = -1
	}
	bad := func(flag string, value any, want string) error {
		return fmt.Errorf("workload: --%s %v: want %s", flag, value, want)
	}
	switch {
	case c.Name == "" || strings.ContainsAny(c.Name, "|:\"\\ \n"):
		return c, bad("name", fmt.Sprintf("%q", c.Name), "a name without bars, colons, quotes and spaces")
	case c.Role != Producer && c.Role != Reader && c.Role != Admin:
		return c, bad("role", fmt.Sprintf("%q", c.Role), "producer, reader or admin")
	case c.Topic == "":
		return c, bad("topic", `""`, "a name")
	case c.Partitions < 1:
		return c, bad("partitions", c.Partitions, "at least 1")
	case c.Start < 0:
		return c, bad("start", c.Start, "a duration that is not negative")
	case c.Work < c.Start:
		return c, bad("work", c.Work, fmt.Sprintf("at least the start, %s", c.Start))
	case c.FinalAt < c.Work:
		return c, bad("final-at", c.FinalAt, fmt.Sprintf("at least the end of the work, %s", c.Work))
	case c.FinalWithin <= 0:
		return c, bad("final-within", c.FinalWithin, "a positive duration")
	case c.Count < 0:
		return c, bad("count", c.Count, "0 or more")
	case c.PauseMin < 0 || c.PauseMax < c.PauseMin:
		return c, bad("pause", fmt.Sprintf("%s..%s", c.PauseMin, c.PauseMax), "FROM..TO")
	case c.BatchMax < 1 || c.BatchMax > 10_000:
		return c, bad("batch-max", c.BatchMax, "1 to 10000 records")
	case c.Keys < 0:
		return c, bad("keys", c.Keys, "0 or more")
	case c.ValueMin < 0 || c.ValueMax < c.ValueMin || c.ValueMax > 1<<20:
		return c, bad("value", fmt.Sprintf("%d..%d", c.ValueMin, c.ValueMax), "FROM..TO, at most 1 MiB")
	case c.InFlight < 1:
		return c, bad("in-flight", c.InFlight, "at least 1")
	case !slices.Contains([]string{"", "none", "gzip", "snappy", "lz4", "zstd"}, c.Compression):
		return c, bad("compression", fmt.Sprintf("%q", c.Compression), "none, gzip, snappy, lz4 or zstd")
	case c.FetchWait < time.Millisecond:
		return c, bad("fetch-wait", c.FetchWait, "at least 1ms")
	case c.RequestTimeout <= 0:
		return c, bad("request-timeout", c.RequestTimeout, "a positive duration")
	case c.DeliveryTimeout <= 0:
		return c, bad("delivery-timeout", c.DeliveryTimeout, "a positive duration")
	}
	return c, nil
}

func (c *Config) client() client.Config {
	return client.Config{
		Bootstrap: c.Bootstrap, ClientID: c.Name,
		DialTimeout: min(c.RequestTimeout, 2*time.Second), RequestTimeout: c.RequestTimeout,
	}
}

func (c *Config) producer(onInit func() func(client.ProducerIdentity, error)) client.ProducerConfig {
	p := client.ProducerConfig{
		Acks: int16(c.Acks), Idempotent: c.Idempotent, Retries: c.Retries, DeliveryTimeout: c.DeliveryTimeout, OnInit: onInit,
		Compression: c.Compression,
	}
	if c.Idempotent || c.Retries == 0 {
		p.MaxInFlight = min(c.InFlight, 5) // of one partition; the process as a whole is held to InFlight by itself
	}
	return p
}
