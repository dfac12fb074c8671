{{/* The console's token, and where the jobs are that it shows. */}}

{{- define "forebay.console.secret.made" -}}
{{- if and .Values.authentication.enabled (not .Values.authentication.existingSecret) -}}true{{- end -}}
{{- end -}}

{{- define "forebay.console.secretName" -}}
{{ .Values.authentication.existingSecret | default (printf "%s-token" (include "forebay.fullname" .)) }}
{{- end -}}

{{/* A job as `forebay console` takes it: one without an address has its metrics where forebay-service serves them. */}}
{{- define "forebay.console.job" -}}
{{- $root := index . 0 -}}
{{- $job := index . 1 -}}
{{- if contains "=" $job -}}
{{ $job }}
{{- else -}}
{{- $host := ternary $job (printf "%s-%s" $root.Release.Name $job | trunc 43 | trimSuffix "-") (eq $root.Release.Name $job) -}}
{{ $job }}=http://{{ $host }}.{{ $root.Release.Namespace }}.svc:8080
{{- end -}}
{{- end -}}
