#!/bin/sh
# Makes the secrets of a deployment, once: what exists is kept. Usage: deploy/make-secrets.sh [FOLDER]
set -eu

folder=${1:-"$(dirname "$0")/secrets"}
mkdir -p "$folder"
# The folder keeps other users of this machine out. The files are readable, because each container runs as a user
# of its own and a secret is mounted into those containers only that name it.
chmod 700 "$folder"
umask 022

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
random_base64() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }

# write NAME: standard input becomes the secret, unless there is one.
write() {
  if [ -e "$folder/$1" ]; then
    cat >/dev/null
    echo "kept  $folder/$1"
  else
    cat >"$folder/$1.new"
    chmod 444 "$folder/$1.new"
    mv "$folder/$1.new" "$folder/$1"
    echo "made  $folder/$1"
  fi
}

random_hex 24 | write postgres-password
printf 'postgres://postgres:%s@postgres:5432/spillway\n' "$(cat "$folder/postgres-password")" | write admin-database-url
printf 'postgres://spillway_apps:%s@postgres:5432/spillway\n' "$(random_hex 24)" | write database-url
printf 'postgres://spillway_auditors:%s@postgres:5432/spillway\n' "$(random_hex 24)" | write audit-database-url
printf 'k1:%s\n' "$(random_base64 32)" | write key-ring
printf 'w1:%s\n' "$(random_base64 32)" | write wrap-keys
printf 'c1:%s\n' "$(random_base64 32)" | write checkpoint-keys
# A lane to begin with. Its apiKey opens nothing: put a real one in its place, and add the other lanes (README.md).
printf '[{"lane":"runpod","driver":"runpod","apiKey":"replace-me","agentKey":"%s","image":"replace/me:1"}]\n' "$(random_base64 32)" | write lanes.json
# Nobody is told of questions and alerts to begin with (README.md).
printf '[]\n' | write webhooks.json
printf '{}\n' | write webhook-secrets.json
printf 'key: "%s"\n' "$(random_hex 32)" | write nats-store-key.conf
printf 'user: "spillway"\npassword: "%s"\n' "$(random_hex 24)" | write nats-login.conf
printf 'nats://spillway:%s@nats:4222\n' "$(sed -n 's/^password: "\(.*\)"$/\1/p' "$folder/nats-login.conf")" | write nats-url
