package kafkaurl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/kafkaurl"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis://host":                                      "must look like",
		"kafka:///":                                         "must look like",
		"kafka://host/topic":                                "must look like",
		"kafka://host,/":                                    "must look like",
		"kafka://host:0":                                    "must look like",
		"kafka://user:secret@host:port":                     "must look like",
		"kafka://user:p%zz@host":                            "must look like",
		"kafka://user:secret @host":                         "must look like",
		"kafka://host?%zz":                                  "must look like",
		"kafka://host?gruop=x":                              "a parameter that there is not",
		"kafka://host?cacertfile=x":                         "cacertfile, which goes with kafkas:// only",
		"kafka://u:secret@host?sasl=gssapi":                 "sasl in the URL",
		"kafka://u@host":                                    "must have USER:PASSWORD@",
		"kafka://host?sasl=plain":                           "must have USER:PASSWORD@",
		"kafka://u:secret@host?scope=x":                     "go with sasl=oauthbearer only",
		"kafka://host?sasl=oauthbearer":                     "one of token_file and token_url",
		"kafka://host?sasl=oauthbearer&token_url=https://x": "must have CLIENT:SECRET@",
		"kafkas://u:secret@host?cacertfile=/no":             "read the certificates",
	} {
		_, err := kafkaurl.Parse(text, "group")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, brokers := range map[string][]string{
		"kafka://a?group=g":                                 {"a:9092"},
		"kafka://a:1,b,c:3/?group=g":                        {"a:1", "b:9092", "c:3"},
		"kafka://[::1]:3?group=g":                           {"[::1]:3"},
		"kafkas://u:p%2Fw@a,b:2?group=g&sasl=scram-sha-256": {"a:9092", "b:2"},
	} {
		target, err := kafkaurl.Parse(text, "group")
		if err != nil || !slices.Equal(target.Brokers, brokers) || target.Own.Get("group") != "g" || len(target.Own) != 1 {
			t.Errorf("%s: %+v, %v", text, target, err)
			continue
		}
		client, err := target.Client()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		client.Close()
	}
}
