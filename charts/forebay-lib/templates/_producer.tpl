{{/* A producer: a Deployment that never ends, or a Job when it is told how much to send. */}}

{{- define "forebay.producer.topic" -}}
{{ required "the chart has no annotation forebay/topic" (index .Chart.Annotations "forebay/topic") }}
{{- end -}}

{{- define "forebay.producer.bounded" -}}
{{- if or (gt (int64 .Values.count) 0) (gt (float64 .Values.duration) 0.0) }}true{{ end -}}
{{- end -}}

{{- define "forebay.producer.pod" -}}
metadata:
  labels:
    {{- include "forebay.podLabels" (list . "producer") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "forebay.podAnnotations" . | nindent 2 }}
spec:
  serviceAccountName: {{ include "forebay.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  {{- if include "forebay.producer.bounded" . }}
  restartPolicy: Never
  {{- end }}
  {{- with include "forebay.pullSecrets" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "forebay.podSecurity" . | nindent 2 }}
  {{- include "forebay.placement" (list . "producer" .Values) | nindent 2 }}
  initContainers:
    {{- $wait := list "wait" (printf "--topic=%s" (include "forebay.producer.topic" .)) -}}
    {{- include "forebay.preparation.step" (list . "wait" $wait) | nindent 4 }}
  containers:
    - name: producer
      {{- include "forebay.image" . | nindent 6 }}
      args:
        - produce
        - {{ include "forebay.producer.topic" . }}
        - --rate={{ .Values.rate }}
        - --count={{ int64 .Values.count }}
        - --duration={{ .Values.duration }}
        - --keys={{ int64 .Values.keys }}
        - --seed={{ int64 .Values.seed }}
        - --out-of-order={{ .Values.outOfOrder }}
        - --duplicates={{ .Values.duplicates }}
        - --malformed={{ .Values.malformed }}
        {{- with .Values.start }}
        - --start={{ . }}
        {{- end }}
      {{- include "forebay.containerSecurity" . | nindent 6 }}
      {{- include "forebay.env" . | nindent 6 }}
      {{- include "forebay.envFrom" . | nindent 6 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      {{- include "forebay.mounts" . | nindent 6 }}
  {{- include "forebay.volumes" . | nindent 2 }}
{{- end -}}

{{- define "forebay.producer.workload" -}}
{{- $pod := include "forebay.producer.pod" . -}}
{{- if include "forebay.producer.bounded" . -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- /* A Job can't be changed: other settings are another Job. */}}
  {{- include "forebay.metadata" (list . "producer" (printf "%s-%s" (include "forebay.fullname" .) ($pod | sha256sum | trunc 8))) | nindent 2 }}
spec:
  backoffLimit: 3
  template:
    {{- $pod | nindent 4 }}
{{- else -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "forebay.metadata" (list . "producer" (include "forebay.fullname" .)) | nindent 2 }}
spec:
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels:
      {{- include "forebay.selector" (list . "producer") | nindent 6 }}
  template:
    {{- $pod | nindent 4 }}
{{- end -}}
{{- end -}}

{{/* Everything a producer's chart holds. */}}
{{- define "forebay.producer" -}}
{{ include "forebay.config" . }}
---
{{ include "forebay.producer.workload" . }}
{{- if .Values.serviceAccount.create }}
---
{{ include "forebay.serviceAccount.resource" . }}
{{- end }}
{{- end -}}
