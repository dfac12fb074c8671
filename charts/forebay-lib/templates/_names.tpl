{{/* Names and labels. Every name begins with the release's, so that two releases share a namespace. */}}

{{- define "forebay.fullname" -}}
{{- if eq .Release.Name .Chart.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "forebay.executors" -}}
{{ include "forebay.fullname" . }}-executor
{{- end -}}

{{- define "forebay.driver.host" -}}
{{ include "forebay.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "forebay.application" -}}
{{ .Values.application | default .Chart.Name }}
{{- end -}}

{{- define "forebay.service.name" -}}
{{ required "the chart has no annotation forebay/service" (index .Chart.Annotations "forebay/service") }}
{{- end -}}

{{/* Labels that never change: a workload's selector. Arguments: list of context and component. */}}
{{- define "forebay.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "forebay.labels" -}}
{{- $root := index . 0 -}}
{{ include "forebay.selector" . }}
app.kubernetes.io/part-of: forebay
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* A pod's labels: none that a new version of the chart changes. */}}
{{- define "forebay.podLabels" -}}
{{ include "forebay.selector" . }}
app.kubernetes.io/part-of: forebay
{{- end -}}

{{- define "forebay.metadata" -}}
name: {{ index . 2 }}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  {{- include "forebay.labels" . | nindent 2 }}
{{- end -}}
