{{/* Names of the console's token, and addresses of the jobs that it shows. */}}

{{- define "forebay.console.secret.made" -}}
{{- if and .Values.authentication.enabled (not .Values.authentication.existingSecret) -}}true{{- end -}}
{{- end -}}

{{- define "forebay.console.secretName" -}}
{{ .Values.authentication.existingSecret | default (printf "%s-token" (include "forebay.fullname" .)) }}
{{- end -}}

{{/* An argument of `forebay console` for a job. The default address is that of the metrics of forebay-service. */}}
{{- define "forebay.console.job" -}}
{{- $root := index . 0 -}}
{{- $job := index . 1 -}}
{{- if contains "=" $job -}}
{{ $job }}
{{- else -}}
{{- $host := include "forebay.nameOf" (list $root $job) -}}
{{ $job }}=http://{{ $host }}.{{ $root.Release.Namespace }}.svc:8080
{{- end -}}
{{- end -}}
