package kafkaurl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func mechanism(login *url.Userinfo, query url.Values) (sasl.Mechanism, error) {
	user := login.Username()
	password, given := login.Password()
	name := strings.ToLower(query.Get("sasl"))
	if name != "oauthbearer" && (query.Has("token_file") || query.Has("token_url") || query.Has("scope")) {
		return nil, errors.New("token_file, token_url and scope in the URL of Kafka go with sasl=oauthbearer only")
	}
	if name == "oauthbearer" {
		return bearer(user, password, query)
	}
	if name == "" && login == nil {
		return nil, nil
	}
	if !given || user == "" {
		return nil, errors.New("the URL of Kafka must have USER:PASSWORD@ with the mechanism of its parameter sasl")
	}
	switch name {
	case "", "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, errors.New("sasl in the URL of Kafka must be plain, scram-sha-256, scram-sha-512 or oauthbearer")
}

// bearer returns a login with a token: from a file, read at each login because another program renews it, or from a URL
// that issues tokens for the client's credentials (OAuth 2.0, client_credentials).
func bearer(client, secret string, query url.Values) (sasl.Mechanism, error) {
	file, issuer := query.Get("token_file"), query.Get("token_url")
	if (file == "") == (issuer == "") {
		return nil, errors.New("the URL of Kafka must have one of token_file and token_url with sasl=oauthbearer")
	}
	if file != "" {
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := os.ReadFile(file)
			if err != nil {
				return oauth.Auth{}, fmt.Errorf("read the token that the URL of Kafka names with token_file: %w", err)
			}
			return oauth.Auth{Token: strings.TrimSpace(string(token))}, nil
		}), nil
	}
	at, err := url.Parse(issuer)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || client == "" || secret == "" {
		return nil, errors.New("with token_url, an https:// URL, the URL of Kafka must have CLIENT:SECRET@ as well")
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if scope := query.Get("scope"); scope != "" {
		form.Set("scope", scope)
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := issue(ctx, issuer, client, secret, form)
		return oauth.Auth{Token: token}, err
	}), nil
}

// issue requests a token. Errors show neither the secret nor the answer, which could be a token.
func issue(ctx context.Context, issuer, client, secret string, form url.Values) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer, strings.NewReader(form.Encode()))
	if err != nil {
		return "", errors.New("token_url in the URL of Kafka is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(client), url.QueryEscape(secret)) // RFC 6749, 2.3.1
	// Logins are rare: no connection stays open.
	agent := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}
	resp, err := agent.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask for a token of Kafka: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Token == "" {
		return "", fmt.Errorf("ask for a token of Kafka: the issuer answers %s, without an access_token", resp.Status)
	}
	return answer.Token, nil
}
