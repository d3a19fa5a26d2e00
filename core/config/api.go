package config

// Pair is one setting as text. Lists of pairs are sorted by name, each name once.
type Pair struct {
	Name, Value string
}

// Broker is the settings of one broker, typed. Times are in the unit that ends the name; -1 means "no limit" where
// Kafka says so. Other rooms treat it as read-only.
type Broker struct {
	NodeID              int32
	LogDirs             []string
	Listeners           []Listener
	AdvertisedListeners []Listener // never empty: Listeners when not set
	ClusterID           string     // trialog.cluster.id; "" lets the broker make one
	Rack                string     // "" is none
	RulesOff            []string   // sorted room.rule names

	NumPartitions            int32
	DefaultReplicationFactor int16
	AutoCreateTopics         bool
	DeleteTopics             bool

	SocketRequestMaxBytes                int32
	SocketSendBufferBytes                int32
	SocketReceiveBufferBytes             int32
	QueuedMaxRequests                    int32
	MaxConnections                       int32
	MaxConnectionsPerIP                  int32
	ConnectionsMaxIdleMs                 int64
	FetchMaxBytes                        int32
	MaxIncrementalFetchSessionCacheSlots int32

	FlushSchedulerIntervalMs             int64 // log.flush.scheduler.interval.ms
	FlushOffsetCheckpointIntervalMs      int64
	FlushStartOffsetCheckpointIntervalMs int64
	RetentionCheckIntervalMs             int64
	SegmentDeleteDelayMs                 int64
	ProducerIDExpirationMs               int64
	ProducerIDExpirationCheckIntervalMs  int64

	ControlledShutdown bool

	Warnings []string // one line each: unknown or ignored settings

	values settings
}

// Listener is one endpoint: NAME://host:port.
type Listener struct {
	Name string // upper case
	Host string // "" is all interfaces (listeners only)
	Port int32  // 0 lets the system choose (listeners only)
}

// Topic is the effective settings of one topic, typed.
type Topic struct {
	SegmentBytes           int32
	SegmentMs              int64
	SegmentJitterMs        int64
	SegmentIndexBytes      int32
	IndexIntervalBytes     int32
	FlushMessages          int64 // fsync after so many records
	FlushMs                int64
	RetentionMs            int64 // -1: for ever
	RetentionBytes         int64 // -1: no limit
	CleanupDelete          bool
	CleanupCompact         bool
	CompressionType        string // "producer" keeps what the client chose
	MinInsyncReplicas      int32
	MaxMessageBytes        int32
	LogAppendTime          bool // message.timestamp.type
	TimestampBeforeMaxMs   int64
	TimestampAfterMaxMs    int64
	FileDeleteDelayMs      int64
	UncleanLeaderElection  bool
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	DeleteRetentionMs      int64
	MinCleanableDirtyRatio float64
	Preallocate            bool // accepted, never done (D1)
}

// LoadBroker makes a Broker from server.properties and from overrides of the form key=value, which win. props may be
// nil. Every bad value is reported, one a line, with its key, value, allowed range, and file:line or --override.
func LoadBroker(props *Properties, overrides []string) (*Broker, error) { panic("config: LoadBroker") }

// Topic is the effective settings of a topic with these pairs of its own; they have passed ValidateTopic (a pair that
// would not is ignored).
func (b *Broker) Topic(own []Pair) Topic { panic("config: Topic") }

// ValidateTopic checks settings given to a topic. The error names the key, the value and the allowed range; the
// caller answers INVALID_CONFIG.
func ValidateTopic(own []Pair) error { panic("config: ValidateTopic") }

// SortPairs sorts by name; a name twice is an error.
func SortPairs(pairs []Pair) ([]Pair, error) { panic("config: SortPairs") }

// Properties is a parsed properties file.
type Properties struct {
	Name  string // for messages
	lines []propertyLine
}

type propertyLine struct {
	name, value string
	line        int
}

// ParseProperties reads java properties: key=value, key:value or key value; # and ! comments; a backslash at the end
// of a line continues it; escapes \t \n \r \f \uXXXX. A key twice is allowed, the last one wins. The error is
// name:line: what.
func ParseProperties(name, text string) (*Properties, error) { panic("config: ParseProperties") }

// Source is where an effective value comes from, with Kafka's numbers (DescribeConfigs).
type Source int8

// Sources.
const (
	SourceTopic         Source = 1
	SourceDynamicBroker Source = 2
	SourceStaticBroker  Source = 4
	SourceDefault       Source = 5
)

// Synonym is one place that a value is looked for.
type Synonym struct {
	Name   string
	Value  string
	Source Source
}

// Described is one setting for DescribeConfigs.
type Described struct {
	Definition *Definition
	Value      string
	Source     Source
	Synonyms   []Synonym // in order of precedence, the effective one first
}

// DescribeBroker lists all broker settings, sorted by name.
func (b *Broker) DescribeBroker() []Described { panic("config: DescribeBroker") }

// DescribeTopic lists all topic settings of a topic with these pairs, sorted by name.
func (b *Broker) DescribeTopic(own []Pair) []Described { panic("config: DescribeTopic") }

type settings struct{}

// Type is the type of a value, with Kafka's numbers (DescribeConfigs).
type Type int8

// Types.
const (
	Bool   Type = 1
	String Type = 2
	Int    Type = 3
	Long   Type = 5
	Double Type = 6
	List   Type = 7
)

// Scope is where a setting may be given.
type Scope uint8

// Scopes.
const (
	ScopeBroker Scope = 1 << iota
	ScopeTopic
	ScopeBoth = ScopeBroker | ScopeTopic
)

// Definition is one row of the table.
type Definition struct {
	Name     string
	Type     Type
	Default  string // as text; "" with NoDefault
	Scope    Scope
	Dynamic  bool     // may change while the broker runs
	Synonyms []string // a topic setting's broker-level names, the strongest first
	Doc      string
}

// Definitions is the table, sorted by name.
func Definitions() []Definition { panic("config: Definitions") }

// Lookup finds a row; nil if there is none.
func Lookup(name string) *Definition { panic("config: Lookup") }
