package s3

import (
	"context"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/internal/store/blobstore"
)

const (
	// answerTime bounds the wait for an answer's beginning, after the whole request was sent.
	answerTime = 30 * time.Second
	dialTime   = 10 * time.Second
	emptySum   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// Bucket names a bucket of an S3-compatible service.
type Bucket struct {
	Name     string
	Prefix   string // of all keys, without slashes at its ends; "" for none
	Endpoint string // URL of the service; "" for Amazon
	Region   string
	// PathStyle addresses the bucket in the path, not in the name of the host.
	PathStyle   bool
	Credentials blobstore.Credentials
	Now         func() time.Time
}

// Store is a blob.Store in a bucket, with PUT, GET and DELETE of objects, signed with version 4. The service checks the
// SHA-256 of an object and refuses a damaged one.
type Store struct {
	base   *url.URL
	region string
	keys   aws.Credentials
	now    func() time.Time
	signer *v4.Signer
	http   *http.Client
}

var _ blob.Store = (*Store)(nil)

// NewBucket returns the store in a bucket. It connects to nothing.
func NewBucket(b Bucket) (*Store, error) {
	if !plainName(b.Name) {
		return nil, fmt.Errorf("%q is not the name of a bucket", b.Name)
	}
	if b.Prefix != "" && blobstore.CheckKey(b.Prefix) != nil {
		return nil, errors.New("the prefix may have letters, digits, '-' and single slashes")
	}
	if !plainName(b.Region) {
		return nil, fmt.Errorf("%q is not a region", b.Region)
	}
	if b.Credentials.AccessKeyID == "" || b.Credentials.SecretAccessKey == "" {
		return nil, errors.New("s3 needs blobs.access_key_id and blobs.secret_access_key")
	}
	if b.Endpoint == "" {
		b.Endpoint = "https://s3." + b.Region + ".amazonaws.com"
	}
	base, err := url.Parse(b.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil ||
		base.RawQuery != "" {
		return nil, errors.New("endpoint must be a URL such as https://minio.example.com")
	}
	if b.PathStyle {
		base = base.JoinPath(b.Name)
	} else {
		base.Host = b.Name + "." + base.Host
	}
	s := &Store{base: base.JoinPath(b.Prefix), region: b.Region, now: b.Now,
		keys: aws.Credentials{AccessKeyID: b.Credentials.AccessKeyID, SecretAccessKey: b.Credentials.SecretAccessKey},
		// S3 signs paths as they are sent
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		http: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout: dialTime, ResponseHeaderTimeout: answerTime, ExpectContinueTimeout: time.Second,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

func plainName(s string) bool {
	return s != "" && len(s) <= 63 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error {
	resp, err := s.do(ctx, http.MethodPut, key, hex.EncodeToString(sum[:]), func(r *http.Request) error {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r.ContentLength = size
		r.Header.Set("Content-Type", "application/json")
		r.Body = io.NopCloser(io.LimitReader(content, size))
		return nil
	})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	resp, err := s.do(ctx, http.MethodGet, key, emptySum, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	resp, err := s.do(ctx, http.MethodDelete, key, emptySum, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *Store) do(ctx context.Context, method, key, sum string, prepare func(*http.Request) error,
) (*http.Response, error) {
	if err := blobstore.CheckKey(key); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(key).String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(req); err != nil {
			return nil, err
		}
	}
	req.Header.Set("X-Amz-Content-Sha256", sum)
	if err := s.signer.SignHTTP(ctx, s.keys, req, sum, "s3", s.region, s.now()); err != nil {
		return nil, fmt.Errorf("sign a request to the blob store: %w", err)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, failureOf(resp)
}

func failureOf(resp *http.Response) error {
	var said struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	_ = xml.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&said)
	what := "the service answers " + resp.Status
	if said.Code != "" {
		what += ": " + said.Code + " (" + cut(said.Message) + ")"
	}
	if resp.StatusCode == http.StatusNotFound && said.Code != "NoSuchBucket" {
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	}
	return errors.New(what)
}

func cut(message string) string {
	return fmt.Sprintf("%.200s", strings.Join(strings.Fields(message), " "))
}
