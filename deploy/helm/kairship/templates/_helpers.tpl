{{/* Names are the same in every installation: there is one Kairship in a cluster. */}}

{{- define "kairship.labels" -}}
{{- $c := .component -}}
{{- with .root -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "kairship.selector" (dict "root" . "component" $c) }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "kairship.selector" -}}
app.kubernetes.io/name: kairship-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: kairship
{{- end -}}

{{- define "kairship.image" -}}
{{- $i := .root.Values.image -}}
{{ with $i.registry }}{{ . }}/{{ end }}kairship-{{ .component }}:{{ default (printf "v%s" .root.Chart.AppVersion) $i.tag }}
{{- end -}}

{{/*
A number or a text as a person writes it. Helm reads the numbers of a file as floating-point ones, and
2000000 would become 2e+06.
*/}}
{{- define "kairship.plain" -}}
{{- if kindIs "float64" . -}}
{{- ternary (printf "%.0f" .) (toString .) (eq . (floor .)) -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/*
The settings that somebody gave beside the chart's own, as flags and as the file of .values.config. The
chart's own must not be among them: a flag of the chart goes before a file and a variable, so they would
be of no effect.
*/}}
{{- define "kairship.flags" -}}
{{- $of := .of }}
{{- $own := .own }}
{{- range $name, $_ := .values.config }}
{{- if has $name $own }}
{{- fail (printf "%s.config.%s: the chart sets this flag itself; there is a value for it" $of $name) }}
{{- end }}
{{- end }}
{{- if .values.config }}
{{- $own = append $own "config" }}
- "--config=/etc/kairship/config/config.yaml"
{{- end }}
{{- range .values.extraEnv }}
{{- if and (hasPrefix "KAIRSHIP_" .name) (has (.name | trimPrefix "KAIRSHIP_" | lower | replace "_" "-") $own) }}
{{- fail (printf "%s.extraEnv: %s: the chart sets this flag itself; there is a value for it" $of .name) }}
{{- end }}
{{- end }}
{{- range $name, $value := .values.flags }}
{{- if has $name $own }}
{{- fail (printf "%s.flags.%s: the chart sets this flag itself; there is a value for it" $of $name) }}
{{- end }}
- {{ printf "--%s=%s" $name (include "kairship.plain" $value) | quote }}
{{- end }}
{{- end -}}

{{/* What pods are made anew for when it changes, and what somebody notes on them. */}}
{{- define "kairship.podAnnotations" -}}
{{- with .config }}
# The program reads its file once.
checksum/config: {{ toYaml . | sha256sum }}
{{- end }}
{{- with .podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The mounts of both programs alike: the settings of .config, and somebody's own. */}}
{{- define "kairship.mounts" -}}
{{- if .config }}
- {name: config, mountPath: /etc/kairship/config, readOnly: true}
{{- end }}
{{- with .extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The volumes for them. */}}
{{- define "kairship.volumes" -}}
{{- if .values.config }}
- name: config
  configMap: {name: kairship-{{ .component }}-config}
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
How often, every two seconds, a program that starts is asked whether it serves: as long as it waits for the
global cluster, which the apiserver may do twice, once for custom resources and once for the Lease of the index's
collector, and a minute more. What it could not wait for is in its log then; one that is killed says nothing.
*/}}
{{- define "kairship.startupFailureThreshold" -}}
{{- $wait := dig "wait-for-apis" "1m" (.values.config | default dict) -}}
{{- range .values.extraEnv }}
{{- if and (eq .name "KAIRSHIP_WAIT_FOR_APIS") .value }}{{ $wait = .value }}{{ end }}
{{- end -}}
{{- $wait = dig "wait-for-apis" $wait (.values.flags | default dict) | toString -}}
{{- if not (regexMatch "^(0|([0-9]+h)?([0-9]+m)?([0-9]+s)?)$" $wait) }}
{{- fail (printf "%s: wait-for-apis: write %s in whole hours, minutes and seconds, such as 1m30s: the chart has to know how long a pod may take to start" .of $wait) }}
{{- end -}}
{{- add (include "kairship.seconds" $wait) 30 -}}
{{- end -}}

{{- define "kairship.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "kairship.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Where pods go: .values is apiserver's or controllerManager's. */}}
{{- define "kairship.placement" -}}
{{- $selector := include "kairship.selector" . -}}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
{{- with .values.topologySpreadConstraints }}
{{- toYaml . | nindent 2 }}
{{- else }}
{{- range tuple "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- $selector | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A ServiceAccount, the roles that are generated from the code (files/), and their bindings. */}}
{{- define "kairship.account" -}}
{{- $name := printf "kairship-%s" .component -}}
{{- $labels := include "kairship.labels" . -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  {{- with .values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- $root := .root }}
{{- range splitList "\n---\n" (printf "\n%s" (.root.Files.Get (printf "files/rbac-%s.yaml" .component))) }}
{{- with fromYaml . }}
{{- /* What the code needs of Secrets wherever they are, it gets where they may be. */}}
{{- $rules := list }}
{{- $secrets := list }}
{{- $narrow := and (eq .kind "ClusterRole") (not $root.Values.instanceSecrets.allNamespaces) }}
{{- range .rules }}
{{- if and $narrow (has "secrets" .resources) }}
{{- $secrets = append $secrets . }}
{{- else }}
{{- $rules = append $rules . }}
{{- end }}
{{- end }}
{{ include "kairship.role" (dict "root" $root "kind" .kind "name" .metadata.name "namespace" .metadata.namespace "account" $name "labels" $labels "rules" $rules) }}
{{- if $secrets }}
{{- range $root.Values.instanceSecrets.in }}
{{ include "kairship.role" (dict "root" $root "kind" "Role" "name" (printf "%s-instance-secrets" $name) "namespace" .namespace "account" $name "labels" $labels "rules" $secrets) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A role and its binding. */}}
{{- define "kairship.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- .labels | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
---
{{ include "kairship.binding" . }}
{{- end -}}

{{- define "kairship.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- .labels | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}

{{/* .tls is apiserver's or the webhook's; .service the name of the Service. */}}
{{- define "kairship.certificate" -}}
{{- with .tls.certManager }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ $.tls.secretName }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "kairship.labels" $ | nindent 4 }}
spec:
  secretName: {{ $.tls.secretName }}
  duration: {{ .duration }}
  renewBefore: {{ .renewBefore }}
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  usages: [digital signature, key encipherment, server auth]
  dnsNames:
    - {{ $.service }}.{{ $.root.Release.Namespace }}.svc
    - {{ $.service }}.{{ $.root.Release.Namespace }}.svc.cluster.local
    {{- range .dnsNames }}
    - {{ . }}
    {{- end }}
  issuerRef: {{- toYaml .issuerRef | nindent 4 }}
{{- end }}
{{- end -}}

{{/* A duration such as 1m30s, in whole seconds. */}}
{{- define "kairship.seconds" -}}
{{- $h := regexFind "[0-9]+h" . | trimSuffix "h" | default "0" | int -}}
{{- $m := regexFind "[0-9]+m" . | trimSuffix "m" | default "0" | int -}}
{{- $s := regexFind "[0-9]+s" . | trimSuffix "s" | default "0" | int -}}
{{- add (mul $h 3600) (mul $m 60) $s -}}
{{- end -}}

{{- define "kairship.credentialsNamespaces" -}}
{{- $all := list -}}
{{- range .Values.instanceSecrets.in }}{{ $all = append $all .namespace }}{{ end -}}
{{- $all | join "," -}}
{{- end -}}

{{/*
How Prometheus verifies a program: .monitor has the authority and the name, .secret and .serverName are what
they are when it says nothing.
*/}}
{{- define "kairship.verified" -}}
{{- $m := .monitor -}}
serverName: {{ $m.serverName | default .serverName }}
{{- if $m.caConfigMapName }}
ca:
  configMap: {name: {{ $m.caConfigMapName }}, key: {{ $m.caKey }}}
{{- else if and $m.caKey (or $m.caSecretName .secret) }}
ca:
  secret: {name: {{ $m.caSecretName | default .secret }}, key: {{ $m.caKey }}}
{{- end }}
{{- end -}}
