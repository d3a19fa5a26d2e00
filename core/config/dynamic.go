package config

import (
	"errors"
	"fmt"
)

// ValidateDynamic checks settings given to a running broker, or to all of them, sorted or not. The error has a line for
// every bad one; the caller answers INVALID_REQUEST, as Kafka does (KAFKA-13609).
func ValidateDynamic(pairs []Pair) error {
	var faults []error
	pairs, err := SortPairs(pairs)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		d := Lookup(p.Name)
		switch {
		case d == nil || d.Scope&ScopeBroker == 0:
			faults = append(faults, fmt.Errorf("config: no broker setting is named %s", p.Name))
			continue
		case !d.Dynamic:
			faults = append(faults, fmt.Errorf("config: %s does not change while the broker runs", p.Name))
			continue
		}
		if _, err := d.parse(p.Value); err != nil {
			faults = append(faults, fmt.Errorf("config: %w", err))
		}
	}
	return errors.Join(faults...)
}

// NotDynamic is the names among pairs of broker settings that do not change while a broker runs.
func NotDynamic(pairs []Pair) []string {
	var names []string
	for _, p := range pairs {
		if d := Lookup(p.Name); d != nil && d.Scope&ScopeBroker != 0 && !d.Dynamic {
			names = append(names, p.Name)
		}
	}
	return names
}

// WithDynamic is what b becomes under settings that were changed while it runs: those of this broker (own) win over those
// of all brokers, and both over what it was started with (KIP-226). Pairs that ValidateDynamic would refuse are passed
// over. b is what LoadBroker returned, and does not change.
func (b *Broker) WithDynamic(all, own []Pair) *Broker {
	next := &Broker{Warnings: b.Warnings, set: b.set}
	next.layers = []layer{
		{SourceDynamicBroker, dynamicOnly(own)}, {SourceDynamicDefault, dynamicOnly(all)}, {SourceStaticBroker, b.set},
	}
	if err := next.load(&reader{layers: next.layers}); err != nil {
		panic("config: settings that may change break those that may not: " + err.Error())
	}
	return next
}

func dynamicOnly(pairs []Pair) []Pair {
	var kept []Pair
	for _, p := range pairs {
		if ValidateDynamic([]Pair{p}) == nil {
			kept = append(kept, p)
		}
	}
	return kept
}
