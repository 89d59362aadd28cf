package rabbitmq

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// destination is where a message is published. There are these forms:
//
//	QUEUE                the queue, past all exchanges
//	exchange:NAME/KEY    the exchange, with the routing key
//	exchange:NAME        the exchange, with the routing key of the message when it was published first
//	exchange:            the exchange and the routing key of the message when it was published first
//
// A "/" in the name of an exchange is written as %2F.
type destination struct {
	exchange string
	key      string
	ownKey   bool // the key is the message's own
	own      bool // and so is the exchange
}

// exchangePrefix begins destinations that are exchanges.
const exchangePrefix = "exchange:"

func parse(text string) (destination, error) {
	rest, ok := strings.CutPrefix(text, exchangePrefix)
	if !ok {
		if text == "" || len(text) > 255 {
			return destination{}, fmt.Errorf("%w: the name of a queue has 1 to 255 bytes", driver.ErrRefused)
		}
		return destination{key: text}, nil
	}
	name, key, hasKey := strings.Cut(rest, "/")
	exchange, err := url.PathUnescape(name)
	if err != nil || len(exchange) > 255 || len(key) > 255 {
		return destination{}, fmt.Errorf("%w: an exchange is written exchange:NAME/KEY, with %%2F for a / in its name",
			driver.ErrRefused)
	}
	return destination{exchange: exchange, key: key, ownKey: !hasKey, own: !hasKey && exchange == ""}, nil
}

// errNoOrigin is why a message cannot be sent to where it was published first.
var errNoOrigin = errors.New("the message does not say to which exchange it was published")

// of returns where one message is published, by what its headers say of its first time.
func (to destination) of(p *parsed) (destination, error) {
	if !to.ownKey {
		return to, nil
	}
	if p.routing == nil || to.own && p.exchange == nil {
		return to, fmt.Errorf("%w: %w", driver.ErrRefused, errNoOrigin)
	}
	to.key = *p.routing
	if to.own {
		to.exchange = *p.exchange
	}
	return to, nil
}
