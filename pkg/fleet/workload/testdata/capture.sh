#!/bin/sh
# Captures one workload from a running local fleet for TestCaptured:
#
#   capture.sh CASE INSTANCE RESOURCE NAMESPACE NAME MEMBER...
#
# FLEET is the fleet's folder (default: .local in the repository root). What
# does not exist is left out, as it is for Kairship; with KEEP set, a file that
# was captured earlier stays where its cluster no longer answers, as its rows in
# the index would. kubectl leaves managedFields out by itself. Of the member
# clusters, the long lists of APIs and resource models are left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fleet=${FLEET:-$here/../../../../.local}
case=$1 instance=$2 resource=$3 namespace=$4 name=$5
shift 5

# save CLUSTER FILE ARGS...: kubectl get as JSON into FILE, or no FILE.
save() {
	cluster=$1 file=$here/$case/$2
	shift 2
	if "$fleet/bin/kubectl" --kubeconfig "$fleet/kubeconfig/$cluster.yaml" --request-timeout 5s \
		get "$@" -o json >"$file.new" 2>/dev/null && [ -s "$file.new" ]; then
		case $file in
		*/cluster-*) jq --indent 4 'del(.status.apiEnablements, .spec.resourceModels, .status.resourceSummary)' "$file.new" >"$file" ;;
		*) cp "$file.new" "$file" ;;
		esac
	fi
	rm -f "$file.new"
}

[ -n "${KEEP:-}" ] || rm -rf "${here:?}/$case"
mkdir -p "$here/$case"
save "$instance" template.json "$resource" -n "$namespace" "$name"
kind=$(sed -n 's/^    "kind": "\(.*\)",$/\1/p' "$here/$case/template.json" | tr '[:upper:]' '[:lower:]')
save "$instance" binding.json resourcebindings.v1alpha2.work.karmada.io -n "$namespace" "$name-$kind"
for member in "$@"; do
	save "$instance" "cluster-$member.json" clusters.cluster.karmada.io "$member"
	save "$member" "object-$member.json" "$resource" -n "$namespace" "$name"
	work=$("$fleet/bin/kubectl" --kubeconfig "$fleet/kubeconfig/$instance.yaml" get works -n "karmada-es-$member" \
		-o jsonpath="{range .items[?(@.metadata.annotations.resourcebinding\.karmada\.io/name==\"$name-$kind\")]}{.metadata.namespace}/{.metadata.name} {.metadata.annotations.resourcebinding\.karmada\.io/namespace}{\"\\n\"}{end}" |
		sed -n "s|^karmada-es-$member/\(.*\) $namespace\$|\1|p")
	[ -z "$work" ] || save "$instance" "work-$member.json" works -n "karmada-es-$member" "$work"
done
for policy in $("$fleet/bin/kubectl" --kubeconfig "$fleet/kubeconfig/$instance.yaml" get overridepolicies,clusteroverridepolicies -n "$namespace" -o name); do
	save "$instance" "override-${policy##*/}.json" "$policy" -n "$namespace"
done
ls "$here/$case"
