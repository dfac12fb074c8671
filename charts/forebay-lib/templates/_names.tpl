{{/* Names and labels. Every name begins with the release's, so that two releases share a namespace. */}}

{{/* The name of what the chart runs; it does not depend on the alias, and is the same in a release of its own. */}}
{{- define "forebay.name" -}}
{{- $topic := .Values.topic | default "" | replace "_" "-" | replace "." "-" | lower -}}
{{- .Values.nameOverride | default .Values.service | default $topic | default (trimPrefix "forebay-" .Chart.Name) -}}
{{- end -}}

{{- define "forebay.fullname" -}}
{{- $name := include "forebay.name" . -}}
{{- if eq .Release.Name $name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change: a workload's selector. Arguments: list of context and component. */}}
{{- define "forebay.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "forebay.name" $root }}
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
{{- with merge (dict) ($root.Values.commonLabels | default dict) (($root.Values.global).commonLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A pod's labels, without those that a new version of the chart changes. */}}
{{- define "forebay.podLabels" -}}
{{ include "forebay.selector" . }}
app.kubernetes.io/part-of: forebay
{{- end -}}

{{/* Arguments: list of context, component, name and, optionally, annotations. */}}
{{- define "forebay.metadata" -}}
{{- $root := index . 0 -}}
{{- $own := dict -}}
{{- if gt (len .) 3 }}{{ $own = index . 3 }}{{ end -}}
name: {{ index . 2 }}
namespace: {{ $root.Release.Namespace }}
{{- with merge (dict) $own ($root.Values.commonAnnotations | default dict) (($root.Values.global).commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
labels:
  {{- include "forebay.labels" . | nindent 2 }}
{{- end -}}
