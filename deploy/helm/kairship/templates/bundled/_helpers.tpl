{{/* What the chart brings of others: PostgreSQL and Clusterpedia. .component is postgresql, or clusterpedia's program. */}}

{{- define "kairship.bundledLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "kairship.bundledSelector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kairship.bundledSelector" -}}
app.kubernetes.io/name: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: kairship-bundled
{{- end -}}

{{/* .image is a name and a tag; image.registry goes before it unless it names one itself. */}}
{{- define "kairship.bundledImage" -}}
{{- $named := contains "/" .image -}}
{{ if and .root.Values.image.registry (not $named) }}{{ .root.Values.image.registry }}/{{ end }}{{ .image }}
{{- end -}}

{{/* Passwords of the bundled database by role: those that are stored, else new ones. As YAML. */}}
{{- define "kairship.bundledPasswords" -}}
{{- $stored := (lookup "v1" "Secret" .Release.Namespace "kairship-postgresql").data | default dict -}}
{{- range list "clusterpedia" "kairship" "kairship_reader" }}
{{ . }}: {{ get $stored . | b64dec | default (randAlphaNum 32) }}
{{- end }}
{{- end -}}

{{/*
A certificate that the chart makes itself, and its authority, as the data of a Secret: what is stored, else a new one
of ten years. .namespace and .secret are where it is stored, .service is the Service that it is for, and .names are
more names and IP addresses.
*/}}
{{- define "kairship.generatedCertificate" -}}
{{- $stored := (lookup "v1" "Secret" .namespace .secret).data | default dict -}}
{{- if hasKey $stored "ca.crt" -}}
{{- toYaml (pick $stored "ca.crt" "tls.crt" "tls.key") -}}
{{- else -}}
{{- $name := printf "%s.%s.svc" .service .namespace -}}
{{- $names := list $name (printf "%s.cluster.local" $name) -}}
{{- $addresses := list -}}
{{- range .names -}}
{{- if or (contains ":" .) (regexMatch "^[0-9.]+$" .) }}{{ $addresses = append $addresses . }}{{ else }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- $authority := genCA (printf "%s-authority" .service) 3650 -}}
{{- $made := genSignedCert $name $addresses $names 3650 $authority -}}
ca.crt: {{ $authority.Cert | b64enc }}
tls.crt: {{ $made.Cert | b64enc }}
tls.key: {{ $made.Key | b64enc }}
{{- end -}}
{{- end -}}
