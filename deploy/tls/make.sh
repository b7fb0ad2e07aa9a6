#!/usr/bin/env bash
# Make a certificate authority of one's own, and a certificate for each name. Needs openssl.
#
#   deploy/tls/make.sh FOLDER broker=kafka,localhost,127.0.0.1 forwarder.ServerA ...
#
# NAME=HOSTS is a server's, NAME alone a client's, whose common name (CN) it is. FOLDER gets ca.crt,
# which everybody needs, and NAME.crt, NAME.key and NAME.pem (both in one, as Kafka reads them). The
# authority's key stays in FOLDER/ca.key: keep it from everybody. What is there is kept, so that
# names can be added; nothing is printed of any key. DAYS=365 says how long certificates hold.
set -euo pipefail
umask 077
folder=${1:?usage: make.sh FOLDER NAME[=HOST,...] ...}
shift
mkdir -p "$folder"
cd "$folder"

quietly() { openssl "$@" 2>openssl.log || { cat openssl.log >&2; exit 1; }; rm -f openssl.log; }
key() { quietly genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }

if [ ! -e ca.crt ]; then
  key ca
  quietly req -x509 -new -key ca.key -subj "/CN=Hopline CA" -days "${DAYS:-365}" -out ca.crt \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
fi
for asked in "$@"; do
  name=${asked%%=*}
  [ ! -e "$name.pem" ] || continue
  use="extendedKeyUsage=clientAuth"
  if [ "$name" != "$asked" ]; then
    names=""
    for host in $(tr ',' ' ' <<<"${asked#*=}"); do
      case $host in *[!0-9.]*) kind=DNS ;; *) kind=IP ;; esac
      names="$names,$kind:$host"
    done
    use="extendedKeyUsage=serverAuth,clientAuth
subjectAltName=${names#,}"
  fi
  key "$name"
  quietly req -new -key "$name.key" -subj "/CN=$name" -out "$name.csr"
  printf '%s\n' "$use" >"$name.ext"
  quietly x509 -req -in "$name.csr" -CA ca.crt -CAkey ca.key -CAcreateserial \
    -days "${DAYS:-365}" -extfile "$name.ext" -out "$name.crt"
  cat "$name.key" "$name.crt" ca.crt >"$name.pem"
  rm -f "$name.csr" "$name.ext"
done
