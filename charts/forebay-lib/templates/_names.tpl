{{/* Names and labels. Every name begins with the release's name, so that two releases can share a namespace. */}}

{{/* The name of the service or producer. It does not depend on the alias: it is the same with and without the umbrella. */}}
{{- define "forebay.name" -}}
{{- $topic := .Values.topic | default "" | replace "_" "-" | replace "." "-" | lower -}}
{{- .Values.nameOverride | default .Values.service | default $topic | default (trimPrefix "forebay-" .Chart.Name) -}}
{{- end -}}

{{- define "forebay.fullname" -}}
{{ include "forebay.nameOf" (list . (include "forebay.name" .)) }}
{{- end -}}

{{/* Name of a part of the release, which leaves 20 characters for suffixes. Arguments: list of context and part. */}}
{{- define "forebay.nameOf" -}}
{{- $release := (index . 0).Release.Name -}}
{{- $name := index . 1 -}}
{{ include "forebay.shortened" (list (ternary $release (printf "%s-%s" $release $name) (eq $release $name)) 43) }}
{{- end -}}

{{/* A text with a maximum length. A longer text is truncated and ends with its hash, so that different texts stay
     different. Arguments: list of text and maximum number of characters. */}}
{{- define "forebay.shortened" -}}
{{- $text := index . 0 -}}
{{- $most := int (index . 1) -}}
{{- if le (len $text) $most -}}
{{- $text -}}
{{- else -}}
{{- printf "%s-%s" (trunc (int (sub $most 9)) $text | trimSuffix "-") (sha256sum $text | trunc 8) -}}
{{- end -}}
{{- end -}}

{{/* Labels of a workload's selector, which never change. Arguments: list of context and component. */}}
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

{{/* Labels of pods, without labels that change with the chart's version. */}}
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

{{/* Name of the development broker or registry. Pods have a label with their StatefulSet's name and revision, of at most 63
     characters. Arguments: list of context, and `broker` or `registry`. */}}
{{- define "forebay.platform.name" -}}
{{ include "forebay.shortened" (list (printf "%s-%s" (index . 0).Release.Name (index . 1)) 52) }}
{{- end -}}

{{/* A value as text. Helm parses whole numbers of values files as floats, which would be printed as 8.64e+07. */}}
{{- define "forebay.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}
