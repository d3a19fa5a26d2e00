package driver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

type kcat struct{ hello Hello }

// Kcat is the kcat of the system, on whatever librdkafka that has.
func Kcat(string) (Driver, error) {
	text, err := exec.Command("kcat", "-V").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("driver: kcat -V: %w\n%s", err, text)
	}
	version := regexp.MustCompile(`Version ([0-9.]+)`).FindSubmatch(text)
	if version == nil {
		return nil, fmt.Errorf("driver: kcat -V says %q", text)
	}
	return kcat{Hello{Client: "kcat", Version: string(version[1]), Codecs: Codecs, Idempotent: true, Reads: true}}, nil
}

func (k kcat) Hello() Hello { return k.hello }
func (k kcat) Close() error { return nil }

func (k kcat) Do(ctx context.Context, job Job) (Answer, error) {
	if job.Op == "produce" {
		return k.produce(ctx, job)
	}
	return k.consume(ctx, job)
}

// produce runs one kcat for each partition: it cannot tell partitions from lines. -Z sends an empty value as null. It
// fails if a record is not delivered, and tells no offsets.
func (kcat) produce(ctx context.Context, job Job) (Answer, error) {
	all := tallies(job)
	for p, t := range all {
		var lines bytes.Buffer
		for i := p; i < job.Records; i += job.Partitions {
			v, _ := value(i)
			fmt.Fprintf(&lines, "%s\t%s\n", key(i), v)
			t.Count++
		}
		cmd := exec.CommandContext(ctx, "kcat", "-P", "-b", job.Bootstrap, "-t", job.Topic, "-p", strconv.Itoa(p), "-K", "\t",
			"-Z", "-H", "topic="+job.Topic, "-z", job.Codec, "-X", "enable.idempotence=true", "-X", "acks=all", "-X", "linger.ms=20")
		cmd.Stdin = &lines
		if text, err := cmd.CombinedOutput(); err != nil {
			return Answer{}, fmt.Errorf("%s: %w\n%s", cmd, err, text)
		}
	}
	return answer(all), nil
}

// consume runs one kcat until it is at the end of every partition.
func (kcat) consume(ctx context.Context, job Job) (Answer, error) {
	cmd := exec.CommandContext(ctx, "kcat", "-C", "-b", job.Bootstrap, "-t", job.Topic, "-o", "beginning", "-e", "-q",
		"-f", `%p\t%o\t%T\t%k\t%S\t%s\t%h\n`)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return Answer{}, fmt.Errorf("%s: %w\n%s", cmd, err, &complaints)
	}
	all := tallies(job)
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 7 {
			return Answer{}, fmt.Errorf("kcat prints %q", lines.Text())
		}
		var n [3]int64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
				return Answer{}, fmt.Errorf("kcat prints %q: %w", lines.Text(), err)
			}
		}
		var value []byte
		if f[4] != "-1" {
			value = []byte(f[5])
		}
		all[n[0]].Add(n[1], n[2], []byte(f[3]), value, strings.TrimPrefix(f[6], "topic="))
	}
	return answer(all), nil
}
