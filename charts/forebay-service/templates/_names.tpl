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

{{/* Driver and executors, which alone talk Spark: labels of both. */}}
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

{{/* As many executors as the driver may follow. */}}
{{- define "forebay.executors.most" -}}
{{- $scaled := ternary .Values.executor.autoscaling.maxReplicas 0 .Values.executor.autoscaling.enabled -}}
{{- max (int .Values.executor.maxReplicas) (int $scaled) (int (.Values.executor.replicas | default 0)) -}}
{{- end -}}
