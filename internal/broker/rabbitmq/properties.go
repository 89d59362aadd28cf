package rabbitmq

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Headers for AMQP's properties. A message without them is persistent.
const (
	prefix = "amqp-"
	// kinds of the headers that are no strings, as a JSON object
	nameTypes = "amqp-types"
	// prefix of application headers that begin with "amqp-"
	nameEscaped = "amqp-header-"

	nameContentType     = "amqp-content-type"
	nameContentEncoding = "amqp-content-encoding"
	nameDeliveryMode    = "amqp-delivery-mode"
	namePriority        = "amqp-priority"
	nameCorrelationID   = "amqp-correlation-id"
	nameReplyTo         = "amqp-reply-to"
	nameExpiration      = "amqp-expiration"
	nameTimestamp       = "amqp-timestamp"
	nameType            = "amqp-type"
	nameAppID           = "amqp-app-id"

	// These are shown, not sent. The server takes a user ID only of that user. The expiration of an expired message
	// would end it again immediately.
	nameUserID   = "amqp-user-id"
	nameExpired  = "amqp-original-expiration"
	nameExchange = "amqp-exchange"
	nameRouting  = "amqp-routing-key"
)

// ofBroker reports whether RabbitMQ writes a header when it dead-letters or delivers a message. Such headers are not
// sent back: RabbitMQ silently drops a message in a queue where, by x-death, it died before.
func ofBroker(name string) bool {
	return name == "x-death" || name == "x-delivery-count" || name == "x-acquired-count" ||
		strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// Received converts a delivery: headers and properties become headers that Send can restore.
func Received(queue string, d *amqp091.Delivery) driver.Message {
	m := driver.Message{Payload: d.Body, Time: d.Timestamp, Origin: queue, MessageID: d.MessageId,
		Redelivered: d.Redelivered}
	if m.Payload == nil {
		m.Payload = []byte{}
	}
	switch n := d.Headers["x-delivery-count"].(type) { // of a quorum queue
	case int64:
		m.Deliveries = int(n)
	case int32:
		m.Deliveries = int(n)
	}
	kinds := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		text, kind := encode(d.Headers[name])
		if strings.HasPrefix(name, prefix) {
			name = nameEscaped + name
		}
		if kind != kindString && !ofBroker(name) {
			kinds[name] = kind
		}
		m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: text})
	}
	set := func(name, value string) {
		if value != "" {
			m.Headers = append(m.Headers, deadletter.Header{Name: name, Value: []byte(value)})
		}
	}
	set(nameContentType, d.ContentType)
	set(nameContentEncoding, d.ContentEncoding)
	if d.DeliveryMode != amqp091.Persistent {
		set(nameDeliveryMode, strconv.Itoa(int(d.DeliveryMode)))
	}
	if d.Priority != 0 {
		set(namePriority, strconv.Itoa(int(d.Priority)))
	}
	set(nameCorrelationID, d.CorrelationId)
	set(nameReplyTo, d.ReplyTo)
	set(nameType, d.Type)
	set(nameAppID, d.AppId)
	set(nameUserID, d.UserId)
	if !d.Timestamp.IsZero() {
		set(nameTimestamp, strconv.FormatInt(d.Timestamp.Unix(), 10))
	}
	f := firstLife(queue, d)
	set(nameExpiration, f.expiration)
	set(nameExpired, f.expired)
	if f.exchange != "" || f.routing != queue {
		m.Headers = append(m.Headers, deadletter.Header{Name: nameExchange, Value: []byte(f.exchange)},
			deadletter.Header{Name: nameRouting, Value: []byte(f.routing)})
	}
	if len(kinds) > 0 {
		types, err := json.Marshal(kinds)
		if err == nil { // kinds are strings, lists and objects
			m.Headers = append(m.Headers, deadletter.Header{Name: nameTypes, Value: types})
		}
	}
	return m
}

type life struct {
	exchange, routing string
	expiration        string
	expired           string // not to restore
}

// firstLife returns the first publishing of a message. RabbitMQ removes the expiration when it dead-letters a message,
// and notes it in x-death; it is restored unless the message has expired.
func firstLife(queue string, d *amqp091.Delivery) life {
	f := life{exchange: d.Exchange, routing: d.RoutingKey, expiration: d.Expiration}
	if exchange, ok := d.Headers["x-original-exchange"].(string); ok { // Spring AMQP has published it again
		routing, _ := d.Headers["x-original-routingKey"].(string)
		f.exchange, f.routing = exchange, routing
	}
	deaths, _ := d.Headers["x-death"].([]any)
	first, _ := d.Headers["x-first-death-queue"].(string)
	reason, _ := d.Headers["x-first-death-reason"].(string)
	expired := false
	for i, entry := range deaths {
		death, ok := entry.(amqp091.Table)
		if !ok {
			continue
		}
		if original, ok := death["original-expiration"].(string); ok && d.Expiration == "" {
			f.expiration = original
		}
		expired = expired || death["reason"] == "expired"
		isFirst := death["queue"] == first && death["reason"] == reason
		if !isFirst && i < len(deaths)-1 {
			continue
		}
		f.exchange, _ = death["exchange"].(string)
		f.routing = queue
		if keys, _ := death["routing-keys"].([]any); len(keys) > 0 {
			f.routing, _ = keys[0].(string)
		}
		if isFirst {
			break
		}
	}
	if expired && d.Expiration == "" {
		f.expired, f.expiration = f.expiration, ""
	}
	return f
}

type parsed struct {
	amqp091.Publishing
	exchange, routing *string
}

const maxShort = 255

var errProperty = errors.New("it cannot be a property of a message")

func publishing(m *driver.Message) (*parsed, error) {
	p := &parsed{Publishing: amqp091.Publishing{Body: m.Payload, MessageId: m.MessageID, Timestamp: m.Time,
		DeliveryMode: amqp091.Persistent, Headers: amqp091.Table{}}}
	kinds := map[string]any{}
	for _, h := range m.Headers {
		if h.Name == nameTypes && json.Unmarshal(h.Value, &kinds) != nil {
			kinds = map[string]any{}
		}
	}
	for _, h := range m.Headers {
		switch {
		case h.Name == nameTypes || ofBroker(h.Name):
		case strings.HasPrefix(h.Name, prefix) && !strings.HasPrefix(h.Name, nameEscaped):
			if err := p.property(h); err != nil {
				return nil, fmt.Errorf("%w: header %s: %w", driver.ErrRefused, h.Name, err)
			}
		default:
			p.header(h, kinds[h.Name])
		}
	}
	for name := range p.Headers {
		if len(name) > maxShort {
			return nil, fmt.Errorf("%w: the name of a header is longer than %d bytes", driver.ErrRefused, maxShort)
		}
	}
	for _, s := range append(p.texts(), &p.MessageId) {
		if len(*s) > maxShort {
			return nil, fmt.Errorf("%w: a property is longer than %d bytes", driver.ErrRefused, maxShort)
		}
	}
	return p, nil
}

var textNames = []string{nameContentType, nameContentEncoding, nameCorrelationID, nameReplyTo, nameType, nameAppID}

func (p *parsed) texts() []*string {
	return []*string{&p.ContentType, &p.ContentEncoding, &p.CorrelationId, &p.ReplyTo, &p.Type, &p.AppId}
}

// header adds an application's header. A value that does not fit its kind becomes a string. AMQP has one header of a
// name: several become an array.
func (p *parsed) header(h deadletter.Header, kind any) {
	name := h.Name
	if strings.HasPrefix(name, nameEscaped+prefix) {
		name = strings.TrimPrefix(name, nameEscaped)
	}
	var value any = string(h.Value)
	if kind != nil {
		if typed, err := decode(h.Value, kind); err == nil {
			value = typed
		}
	}
	before, twice := p.Headers[name]
	list, isList := before.([]any)
	switch {
	case !twice:
		p.Headers[name] = value
	case isList:
		p.Headers[name] = append(list, value)
	default:
		p.Headers[name] = []any{before, value}
	}
}

// Headers for numbers, with their maxima. The server closes the channel of a message with another expiration.
var numbers = map[string]uint64{namePriority: 255, nameDeliveryMode: 2, nameExpiration: 1<<32 - 2}

func (p *parsed) property(h deadletter.Header) error {
	text := string(h.Value)
	if i := slices.Index(textNames, h.Name); i >= 0 {
		*p.texts()[i] = text
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	most, isNumber := numbers[h.Name]
	if isNumber && (err != nil || n > most) {
		return fmt.Errorf("%w: %.40q", errProperty, text)
	}
	switch h.Name {
	case nameExchange:
		p.exchange = &text
	case nameRouting:
		p.routing = &text
	case nameUserID, nameExpired:
	case namePriority:
		p.Priority = uint8(n)
	case nameDeliveryMode: // 0: the message has no such property
		p.DeliveryMode = uint8(n)
	case nameExpiration:
		p.Expiration = text
	case nameTimestamp:
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: %.40q", errProperty, text)
		}
		p.Timestamp = time.Unix(seconds, 0)
	default:
		p.Headers[h.Name] = text
	}
	return nil
}
