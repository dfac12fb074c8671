{{/* What driver and executors prove themselves by to each other; their calls are encrypted with it. */}}

{{- define "forebay.spark.secretName" -}}
{{ .Values.executor.encryption.existingSecret | default (printf "%s-spark" (include "forebay.fullname" .)) }}
{{- end -}}

{{/* Made once: an upgrade keeps the one there is, a driver must not get another one than its executors have. */}}
{{- define "forebay.spark.secret" -}}
{{- $name := include "forebay.spark.secretName" . -}}
{{- $kept := lookup "v1" "Secret" .Release.Namespace $name | default dict -}}
apiVersion: v1
kind: Secret
metadata:
  {{- include "forebay.metadata" (list . "driver" $name) | nindent 2 }}
type: Opaque
data:
  secret: {{ (get ($kept.data | default dict) "secret") | default (randAlphaNum 48 | b64enc) | quote }}
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
{{- end -}}
{{- end -}}

{{/* The arguments, for driver and executor alike. */}}
{{- define "forebay.spark.secret.option" -}}
{{- if .Values.executor.encryption.enabled -}}
--spark-secret=/etc/forebay/spark/secret
{{- end -}}
{{- end -}}
