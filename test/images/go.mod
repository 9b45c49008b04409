module github.com/kubectl-backlog/kubectl-backlog/test/images

go 1.26.0

require golang.org/x/sys v0.50.0

require (
	fortio.org/cli v1.9.0 // indirect
	fortio.org/dflag v1.7.2 // indirect
	fortio.org/fortio v1.66.5 // indirect
	fortio.org/log v1.16.0 // indirect
	fortio.org/safecast v1.0.0 // indirect
	fortio.org/scli v1.15.2 // indirect
	fortio.org/sets v1.2.0 // indirect
	fortio.org/struct2env v0.4.1 // indirect
	fortio.org/version v1.0.4 // indirect
	github.com/fsnotify/fsnotify v1.7.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/kortschak/goroutine v1.1.2 // indirect
	golang.org/x/crypto/x509roots/fallback v0.0.0-20240904212608-c9da6b9a4008 // indirect
	golang.org/x/exp v0.0.0-20240904232852-e7e105dedf7e // indirect
	golang.org/x/net v0.29.0 // indirect
	golang.org/x/text v0.18.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240903143218-8af14fe29dc1 // indirect
	google.golang.org/grpc v1.66.2 // indirect
	google.golang.org/protobuf v1.34.2 // indirect
)

tool fortio.org/fortio
