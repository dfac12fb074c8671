{{/* Secrets with which driver and executors authenticate to each other, and clients to the query servers. */}}

{{- define "forebay.spark.secret.made" -}}
{{- if and .Values.executor.encryption.enabled (not .Values.executor.encryption.existingSecret) -}}true{{- end -}}
{{- end -}}

{{- define "forebay.queries.secret.made" -}}
{{- $queries := .Values.queries -}}
{{- if and $queries.enabled $queries.authentication.enabled (not $queries.authentication.existingSecret) -}}true{{- end -}}
{{- end -}}

{{- define "forebay.spark.secretName" -}}
{{ .Values.executor.encryption.existingSecret | default (printf "%s-spark-token" (include "forebay.fullname" .)) }}
{{- end -}}

{{- define "forebay.queries.secretName" -}}
{{ .Values.queries.authentication.existingSecret | default (printf "%s-queries-token" (include "forebay.fullname" .)) }}
{{- end -}}

{{- define "forebay.spark.secret.mount" -}}
{{- if .Values.executor.encryption.enabled -}}
- name: spark-secret
  mountPath: /etc/forebay/spark
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "forebay.spark.secret.volume" -}}
{{- if .Values.executor.encryption.enabled -}}
- name: spark-secret
  secret:
    secretName: {{ include "forebay.spark.secretName" . }}
    defaultMode: 0440
    items: [{key: {{ ternary "token" "secret" (eq (include "forebay.spark.secret.made" .) "true") }}, path: secret}]
{{- end -}}
{{- end -}}

{{/* The command-line option with the secret, for driver and executors. */}}
{{- define "forebay.spark.secret.option" -}}
{{- if .Values.executor.encryption.enabled -}}
--spark-secret=/etc/forebay/spark/secret
{{- end -}}
{{- end -}}
