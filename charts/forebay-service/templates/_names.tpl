{{/* Names of a service's parts. */}}

{{- define "forebay.executors" -}}
{{ include "forebay.fullname" . }}-executor
{{- end -}}

{{- define "forebay.driver.host" -}}
{{ include "forebay.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "forebay.application" -}}
{{ .Values.application | default (include "forebay.service" .) }}
{{- end -}}

{{- define "forebay.service" -}}
{{ required "service is empty: name the service to run, such as --set service=user-sessions (forebay services lists those of the image)" .Values.service }}
{{- end -}}

{{/* Labels of driver and executors, the only pods that use Spark's protocol. */}}
{{- define "forebay.job.pods" -}}
matchLabels:
  app.kubernetes.io/name: {{ include "forebay.name" . }}
  app.kubernetes.io/instance: {{ .Release.Name }}
matchExpressions:
  - {key: app.kubernetes.io/component, operator: In, values: [driver, executor]}
{{- end -}}

{{- define "forebay.queries.name" -}}
{{ include "forebay.fullname" . }}-queries
{{- end -}}

{{/* Name of the query servers that hold one part each. It contains the number of parts, so that a pod never uses a pod with
     another number of parts as its peer. */}}
{{- define "forebay.queries.parts.name" -}}
{{- $end := printf "-queries-of-%d" (int .Values.queries.parts) -}}
{{- /* Pods have a label with their StatefulSet's name and revision, of at most 63 characters. */ -}}
{{- include "forebay.shortened" (list (include "forebay.fullname" .) (sub 52 (len $end))) }}{{ $end -}}
{{- end -}}

{{/* The query servers' workload, in kubectl's notation. */}}
{{- define "forebay.queries.workload" -}}
{{- if .Values.queries.parts -}}
statefulset/{{ include "forebay.queries.parts.name" . }}
{{- else -}}
deployment/{{ include "forebay.queries.name" . }}
{{- end -}}
{{- end -}}

{{- define "forebay.queries.selector" -}}
{{ include "forebay.selector" (list . "queries") }}
{{- if .Values.queries.parts }}
forebay.io/query-parts: {{ int .Values.queries.parts | quote }}
{{- end }}
{{- end -}}

{{/* Addresses of all parts, in order. */}}
{{- define "forebay.queries.peers" -}}
{{- $name := include "forebay.queries.parts.name" . -}}
{{- range $part := until (int .Values.queries.parts) -}}
{{- if $part }},{{ end }}http://{{ $name }}-{{ $part }}.{{ $name }}.{{ $.Release.Namespace }}.svc:7070
{{- end -}}
{{- end -}}
