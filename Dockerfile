# The image of the server and of `tasker worker`: one static binary, no shell, no package, a user without rights.
#
#   docker build --build-arg VERSION=v0.1.0 --tag tasker .
#   docker run --rm tasker version
#
# The data is in the volume /var/lib/tasker. deploy/compose has examples.

# On the machine that builds, whatever the image is for.
FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build
RUN apk add --no-cache ca-certificates
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=(devel)
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH GOTOOLCHAIN=local \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /out/bin/tasker ./cmd/tasker
RUN mkdir -p /out/data /out/tmp && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/bin/tasker /usr/local/bin/tasker
COPY --from=build /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/data /var/lib/tasker
COPY LICENSE /LICENSE
USER 65532:65532
WORKDIR /var/lib/tasker
VOLUME /var/lib/tasker
EXPOSE 8080
# The address of the server, and where `tasker health` asks: other interfaces need API keys (docs/guides/deploying.md).
ENV TASKER_SERVER_LISTEN=0.0.0.0:8080 TASKER_SERVER=http://127.0.0.1:8080 TASKER_DB=sqlite:/var/lib/tasker/tasker.db
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/local/bin/tasker", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/tasker"]
CMD ["serve"]
