package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// ConfigChangesMax is how many settings one request may change: Kafka's bound on a batch of metadata records.
const ConfigChangesMax = 10_000

// ConfigOp is what an incremental change does, with Kafka's numbers (KIP-339).
type ConfigOp int8

// Operations. Append and Subtract are for lists.
const (
	ConfigSet      ConfigOp = 0
	ConfigDelete   ConfigOp = 1
	ConfigAppend   ConfigOp = 2
	ConfigSubtract ConfigOp = 3
)

// String is Kafka's word.
func (o ConfigOp) String() string {
	if o < ConfigSet || o > ConfigSubtract {
		return fmt.Sprintf("operation %d", int8(o))
	}
	return [...]string{"SET", "DELETE", "APPEND", "SUBTRACT"}[o]
}

// Resource names what has settings of its own: a topic, a broker by node id, or all brokers ("").
type Resource struct {
	Type int8 // meta.ResourceTopic, meta.ResourceBroker; others are refused
	Name string
}

// ConfigChange is one setting of a resource.
type ConfigChange struct {
	Name  string
	Op    ConfigOp // ConfigSet in a request that replaces
	Value string
	Null  bool // refused, except with ConfigDelete
}

// AlterResource is the changes of one resource.
type AlterResource struct {
	Resource
	Changes []ConfigChange
}

// AlterConfigs changes dynamic settings, each resource whole or not at all. Incremental leaves settings alone that are
// not mentioned (KIP-339); otherwise they are deleted.
type AlterConfigs struct {
	Resources    []AlterResource
	Incremental  bool
	ValidateOnly bool
}

// AlterConfigsResponse has one entry for each resource, in order.
type AlterConfigsResponse struct{ Resources []AlteredResource }

// AlteredResource is the outcome for one resource.
type AlteredResource struct {
	Resource
	Code    kafka.ErrorCode
	Message string // "" with NONE
}

func (*AlterConfigs) isRequest()          {}
func (*AlterConfigsResponse) isResponse() {}

func compareResources(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func (c *Controller) alterConfigs(req *AlterConfigs) (*AlterConfigsResponse, []meta.Record) {
	resp := &AlterConfigsResponse{}
	var records []meta.Record
	resources := make([]Resource, len(req.Resources))
	for i := range req.Resources {
		resources[i] = req.Resources[i].Resource
	}
	twice, before := duplicates(resources, compareResources), c.minISRs()
	for i := range req.Resources {
		r := &req.Resources[i]
		out := AlteredResource{Resource: r.Resource}
		var changed []meta.Record
		var no *refusal
		if _, dup := slices.BinarySearchFunc(twice, r.Resource, compareResources); dup {
			no = refuse(kafka.ErrInvalidRequest, "Each resource must appear at most once.")
		} else if changed, no = c.planConfigs(r, req.Incremental); no == nil && len(records)+len(changed) > ConfigChangesMax {
			no = refuse(kafka.ErrPolicyViolation, "Excessively large number of settings per request: at most %d", ConfigChangesMax)
		}
		if no != nil {
			out.Code, out.Message = no.code, no.message
		} else if !req.ValidateOnly {
			records = append(records, c.decide(changed...)...)
		}
		resp.Resources = append(resp.Resources, out)
	}
	if slices.ContainsFunc(records, setsMinISR) {
		records = append(records, c.settleMinISR(before)...)
	}
	return resp, records
}

// planConfigs is the records that change one resource, in the order in which Kafka checks.
func (c *Controller) planConfigs(r *AlterResource, incremental bool) ([]meta.Record, *refusal) {
	if no := checkChanges(r.Changes); no != nil {
		return nil, no
	}
	have, no := c.configsOf(r.Resource)
	if no != nil {
		return nil, no
	}
	want, no := wantedConfigs(have, r, incremental)
	if no != nil {
		return nil, no
	}
	if no := c.checkMinISR(r, have, want); no != nil {
		return nil, no
	}
	if no := checkWanted(want, r); no != nil {
		return nil, no
	}
	return configRecords(r.Resource, have, want), nil
}

// checkChanges is what is wrong with a request whatever it is about.
func checkChanges(changes []ConfigChange) *refusal {
	if len(changes) > ConfigChangesMax {
		return refuse(kafka.ErrPolicyViolation, "Excessively large number of settings per request: at most %d", ConfigChangesMax)
	}
	names := make([]string, len(changes))
	var null []string
	for i, ch := range changes {
		names[i] = ch.Name
		switch {
		case ch.Op < ConfigSet || ch.Op > ConfigSubtract:
			return refuse(kafka.ErrInvalidRequest, "Unknown operations type %d", ch.Op)
		case ch.Null && ch.Op != ConfigDelete:
			null = append(null, ch.Name)
		}
	}
	if len(duplicates(names, strings.Compare)) > 0 {
		return refuse(kafka.ErrInvalidRequest, "Error due to duplicate config keys")
	}
	if len(null) > 0 {
		return refuse(kafka.ErrInvalidRequest, "Null value not supported for : %s", strings.Join(null, ", "))
	}
	return nil
}

// configsOf is the settings that a resource has of its own.
func (c *Controller) configsOf(r Resource) ([]config.Pair, *refusal) {
	switch r.Type {
	case meta.ResourceTopic:
		if r.Name == "" {
			return nil, refuse(kafka.ErrInvalidRequest, "Default topic resources are not allowed.")
		}
		if err := kafka.CheckTopicName(r.Name); err != nil {
			return nil, refuse(kafka.ErrInvalidTopic, "%v", err)
		}
		t := c.speculative.Topic(r.Name)
		if t == nil {
			return nil, refuse(kafka.ErrUnknownTopicOrPartition, "The topic '%s' does not exist.", r.Name)
		}
		return t.Configs, nil
	case meta.ResourceBroker:
		if r.Name == "" {
			return c.speculative.BrokerConfigs(""), nil
		}
		id, err := strconv.ParseInt(r.Name, 10, 32)
		switch {
		case err != nil || strconv.FormatInt(id, 10) != r.Name:
			return nil, refuse(kafka.ErrInvalidRequest, "Unable to parse broker name as a base 10 number.")
		case id < 0:
			return nil, refuse(kafka.ErrInvalidRequest, "Invalid negative broker ID.")
		case c.speculative.Broker(kafka.NodeID(id)) == nil:
			return nil, refuse(kafka.ErrInvalidRequest, "No broker %d is registered.", id)
		}
		return c.speculative.BrokerConfigs(r.Name), nil
	}
	return nil, refuse(kafka.ErrInvalidRequest, "Unknown resource type %d", r.Type)
}

// wantedConfigs is what the resource has after the changes, sorted.
func wantedConfigs(have []config.Pair, r *AlterResource, incremental bool) ([]config.Pair, *refusal) {
	var want []config.Pair
	if incremental {
		want = slices.Clone(have)
	}
	for _, ch := range r.Changes {
		i, found := slices.BinarySearchFunc(want, ch.Name, func(p config.Pair, name string) int { return strings.Compare(p.Name, name) })
		value := ch.Value
		if ch.Op == ConfigAppend || ch.Op == ConfigSubtract {
			d := config.Lookup(ch.Name)
			if d == nil || d.Type != config.List {
				return nil, refuse(kafka.ErrInvalidConfig, "Can't %s to key %s because its type is not LIST.", ch.Op, ch.Name)
			}
			old := d.Default
			if found {
				old = want[i].Value
			}
			value = changedList(old, ch.Value, ch.Op)
		}
		if no := tooLong(value); no != nil {
			return nil, no
		}
		switch {
		case ch.Op == ConfigDelete && found:
			want = slices.Delete(want, i, i+1)
		case ch.Op == ConfigDelete:
		case found:
			want[i].Value = value
		default:
			want = slices.Insert(want, i, config.Pair{Name: ch.Name, Value: value})
		}
	}
	return want, nil
}

// tooLong is a value that a record cannot carry.
func tooLong(value string) *refusal {
	const valueMax = 1<<15 - 1
	if len(value) > valueMax {
		return refuse(kafka.ErrInvalidConfig, "The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", valueMax)
	}
	return nil
}

// changedList is a list after words were added or taken out, in a time that grows with their number: a request may have a
// hundred thousand.
func changedList(old, words string, op ConfigOp) string {
	var list []string
	have := map[string]int{} // how often, in list
	for w := range strings.SplitSeq(old, ",") {
		if w != "" {
			list = append(list, w)
			have[w]++
		}
	}
	gone := map[string]int{} // how often, from the front of list
	for w := range strings.SplitSeq(words, ",") {
		switch {
		case op == ConfigAppend && have[w] == 0:
			list = append(list, w)
			have[w]++
		case op == ConfigSubtract && gone[w] < have[w]:
			gone[w]++
		}
	}
	list = slices.DeleteFunc(list, func(w string) bool {
		if gone[w] == 0 {
			return false
		}
		gone[w]--
		return true
	})
	return strings.Join(list, ",")
}

// checkWanted holds the settings that would result to the table. Kafka has another code for brokers than for topics
// (KAFKA-13609).
func checkWanted(want []config.Pair, r *AlterResource) *refusal {
	if r.Type == meta.ResourceTopic {
		if err := config.ValidateTopic(want); err != nil {
			return refuse(kafka.ErrInvalidConfig, "%v", err)
		}
		return nil
	}
	if fixed := config.NotDynamic(want); len(fixed) > 0 {
		return refuse(kafka.ErrInvalidRequest, "Cannot update these configs dynamically: [%s]", strings.Join(fixed, ", "))
	}
	if err := config.ValidateDynamic(want); err != nil {
		return refuse(kafka.ErrInvalidRequest, "%v", err)
	}
	return nil
}

// configRecords is what changes have to want; both are sorted.
func configRecords(r Resource, have, want []config.Pair) []meta.Record {
	var records []meta.Record
	for _, p := range want {
		if old, ok := config.Get(have, p.Name); !ok || old != p.Value {
			records = append(records, &meta.Config{Resource: r.Type, Name: r.Name, Key: p.Name, Value: p.Value})
		}
	}
	for _, p := range have {
		if _, ok := config.Get(want, p.Name); !ok {
			records = append(records, &meta.Config{Resource: r.Type, Name: r.Name, Key: p.Name, Delete: true})
		}
	}
	return records
}
