package configapi

import (
	"fmt"
	"slices"
	"strconv"

	"trialog/core/broker/serve"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describedBytes is the memory that the answer about one resource takes at most,
// but for long values and documentation: an answer is far longer than its request.
const describedBytes = 64 << 10

// DescribeConfigs answers what is set, where it is set, and what would be in
// force without that.
func (a *API) DescribeConfigs(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeConfigsRequest)
	if err := rq.ChargeEntries(len(req.Resources)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	seen := map[resource]bool{}
	for i := range req.Resources {
		rr := &req.Resources[i]
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		// Without this, a megabyte that names one broker again and again would ask for gigabytes.
		if key := resourceOf(rr); seen[key] {
			out.ErrorCode, out.ErrorMessage = int16(kafka.ErrInvalidRequest), kmsg.StringPtr("Each resource must appear at most once.")
			resp.Resources = append(resp.Resources, out)
			continue
		} else {
			seen[key] = true
		}
		found, code, message := a.describe(rr)
		if code != kafka.ErrNone {
			out.ErrorCode = int16(code)
			if message != "" {
				out.ErrorMessage = kmsg.StringPtr(message)
			}
		} else if err := rq.Charge(describedBytes); err != nil {
			return nil, err
		}
		for j := range found {
			if d := &found[j]; len(rr.ConfigNames) == 0 || slices.Contains(rr.ConfigNames, d.Definition.Name) {
				out.Configs = append(out.Configs, entry(req, d, rr.ResourceType == kmsg.ConfigResourceTypeBroker))
			}
		}
		resp.Resources = append(resp.Resources, out)
	}
	return rq.Reply(resp)
}

// resource is what a request names, however it is written.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

// resourceOf sees one broker in 1, +1 and 01, as Kafka does.
func resourceOf(rr *kmsg.DescribeConfigsRequestResource) resource {
	r := resource{rr.ResourceType, rr.ResourceName}
	if kind := int8(r.kind); kind == meta.ResourceBroker || kind == resourceLogger {
		if id, err := strconv.ParseInt(r.name, 10, 32); err == nil {
			r.name = strconv.FormatInt(id, 10)
		}
	}
	return r
}

// describe is the settings of one resource.
func (a *API) describe(rr *kmsg.DescribeConfigsRequestResource) ([]config.Described, kafka.ErrorCode, string) {
	switch int8(rr.ResourceType) {
	case meta.ResourceTopic:
		if err := kafka.CheckTopicName(rr.ResourceName); err != nil {
			return nil, kafka.ErrInvalidTopic, err.Error()
		}
		t := a.Controller.Image().Topic(rr.ResourceName)
		if t == nil {
			return nil, kafka.ErrUnknownTopicOrPartition, ""
		}
		return a.Config().DescribeTopic(t.Configs), kafka.ErrNone, ""
	case meta.ResourceBroker:
		if rr.ResourceName == "" {
			return a.Config().DescribeDefaults(), kafka.ErrNone, ""
		}
		if code, message := a.checkNode(rr.ResourceName, "Broker", " or empty string,"); code != kafka.ErrNone {
			return nil, code, message
		}
		return a.Config().DescribeBroker(), kafka.ErrNone, ""
	case resourceLogger: // one logger, whose level does not change
		if rr.ResourceName == "" {
			return nil, kafka.ErrInvalidRequest, "Broker id must not be empty"
		}
		code, message := a.checkNode(rr.ResourceName, "Broker", "")
		return nil, code, message
	case resourceClientMetrics, resourceGroup: // there are none
		if rr.ResourceName == "" {
			return nil, kafka.ErrInvalidRequest, "The name of the resource must not be empty"
		}
		return nil, kafka.ErrNone, ""
	}
	return nil, kafka.ErrInvalidRequest, fmt.Sprintf("Unsupported resource type: %d", rr.ResourceType)
}

// entry is one setting. Those of topics may all change; of a broker's, those that
// need no start.
func entry(req *kmsg.DescribeConfigsRequest, d *config.Described, ofBroker bool) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	out.Name, out.Source = d.Definition.Name, kmsg.ConfigSource(d.Source)
	if !d.Absent {
		out.Value = kmsg.StringPtr(d.Value)
	}
	out.ReadOnly = ofBroker && !d.Definition.Dynamic
	out.ConfigType = kmsg.ConfigType(d.Definition.Type)
	if req.IncludeDocumentation {
		out.Documentation = kmsg.StringPtr(d.Definition.Doc)
	}
	if !req.IncludeSynonyms {
		return out
	}
	for _, s := range d.Synonyms {
		syn := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		syn.Name, syn.Value, syn.Source = s.Name, kmsg.StringPtr(s.Value), kmsg.ConfigSource(s.Source)
		out.ConfigSynonyms = append(out.ConfigSynonyms, syn)
	}
	return out
}
