{{/* A producer's pod. */}}

{{- define "forebay.producer.topic" -}}
{{ required "topic is empty: name the topic to write, such as --set topic=user_activity" .Values.topic }}
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
    {{- $wait := list "wait" (printf "--topic=%s" (.Values.topicName | default (include "forebay.producer.topic" .))) -}}
    {{- include "forebay.preparation.step" (list . "wait" $wait) | nindent 4 }}
    {{- with .Values.extraInitContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  containers:
    - name: producer
      {{- include "forebay.image" . | nindent 6 }}
      {{- if include "forebay.ksml.given" . }}
      args: [ksml, produce, {{ include "forebay.ksml.folder" . }}, --no-create-topics]
      {{- else }}
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
        {{- with .Values.topicName }}
        - --topic={{ $.Values.topic }}={{ . }}
        {{- end }}
        {{- with .Values.start }}
        - --start={{ . }}
        {{- end }}
      {{- end }}
      {{- include "forebay.containerSecurity" . | nindent 6 }}
      {{- include (ternary "forebay.env" "forebay.env.restarted" (eq (include "forebay.producer.bounded" .) "true")) . | nindent 6 }}
      {{- include "forebay.envFrom" . | nindent 6 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      {{- include "forebay.mounts" . | nindent 6 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "forebay.volumes" . | nindent 2 }}
{{- end -}}
