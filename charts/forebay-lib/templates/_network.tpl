{{/* Who may connect: driver and executors of a job to each other, anybody to health, metrics and queries. */}}

{{- define "forebay.networkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "forebay.metadata" (list . "network" (include "forebay.fullname" .)) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ .Chart.Name }}
      app.kubernetes.io/instance: {{ .Release.Name }}
  policyTypes: [Ingress{{ if .Values.networkPolicy.egress }}, Egress{{ end }}]
  ingress:
    - from:
        - podSelector:
            matchLabels:
              app.kubernetes.io/name: {{ .Chart.Name }}
              app.kubernetes.io/instance: {{ .Release.Name }}
      ports:
        - {port: 7078, protocol: TCP}
        - {port: 7079, protocol: TCP}
    - ports:
        - {port: 8080, protocol: TCP}
      {{- with .Values.networkPolicy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- if .Values.queries.enabled }}
    - ports:
        - {port: 7070, protocol: TCP}
      {{- with .Values.networkPolicy.queriesFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  {{- with .Values.networkPolicy.egress }}
  egress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "forebay.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "forebay.metadata" (list . "executor" (include "forebay.executors" .)) | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "forebay.selector" (list . "executor") | nindent 6 }}
{{- end -}}
