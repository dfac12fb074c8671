{{/* For the Prometheus operator; off by default, because its kinds must exist. */}}

{{- define "forebay.podMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  {{- include "forebay.metadata" (list . "monitoring" (include "forebay.fullname" .)) | nindent 2 }}
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .Chart.Name }}
      app.kubernetes.io/instance: {{ .Release.Name }}
    matchExpressions:
      - {key: app.kubernetes.io/component, operator: In, values: [driver, queries]}
  podMetricsEndpoints:
    - port: http
      path: /metrics
      interval: {{ .Values.monitoring.interval }}
      relabelings:
        - targetLabel: release
          replacement: {{ .Release.Name }}
{{- end -}}

{{- define "forebay.prometheusRule" -}}
{{- $alerts := .Values.monitoring.alerts -}}
{{- $service := include "forebay.service.name" . -}}
{{- $job := printf "namespace=%q, release=%q, service=%q" .Release.Namespace .Release.Name $service -}}
{{- $of := printf "{%s}" $job -}}
{{- $pods := printf "{namespace=%q, pod=~\"%s-.*\"}" .Release.Namespace (include "forebay.fullname" .) -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  {{- include "forebay.metadata" (list . "monitoring" (include "forebay.fullname" .)) | nindent 2 }}
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ include "forebay.fullname" . }}
      rules:
        - alert: ForebayLagGrows
          expr: sum(forebay_lag_records{{ $of }}) > {{ $alerts.lagRecords }} and sum(deriv(forebay_lag_records{{ $of }}[10m])) > 0
          for: 10m
          labels: {severity: warning, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: {{ $service }} falls behind its input
            description: More records arrive than are processed. Scale out - kubectl scale statefulset/{{ include "forebay.executors" . }} --replicas=N.
        - alert: ForebayBatchStuck
          expr: time() - max(forebay_last_commit_timestamp_seconds{{ $of }}) > {{ $alerts.batchSeconds }} and sum(forebay_lag_records{{ $of }}) > 0
          for: 1m
          labels: {severity: critical, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: {{ $service }} has committed nothing for {{ $alerts.batchSeconds }} s though records wait
            description: The reason is at /readyz and in the log - kubectl logs {{ include "forebay.fullname" . }}-0.
        - alert: ForebayErrors
          expr: sum(increase(forebay_records_out_total{ {{- $job }}, kind="errors"}[10m])) > {{ $alerts.errors }}
          labels: {severity: warning, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: {{ $service }} can't use some of its records
            description: forebay tail {{ $service }}.errors shows records and reasons.
        - alert: ForebayRestarts
          expr: sum(increase(forebay_query_restarts_total{{ $of }}[10m])) > 3 or sum(increase(kube_pod_container_status_restarts_total{{ $pods }}[10m])) > 3
          labels: {severity: critical, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: {{ $service }} starts again and again
            description: kubectl logs {{ include "forebay.fullname" . }}-0 --previous names the cause and the remedy.
        - alert: ForebayAbsent
          expr: absent(forebay_commits_total{{ $of }})
          for: 5m
          labels: {severity: critical, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: {{ $service }} does not run
            description: kubectl describe pod {{ include "forebay.fullname" . }}-0 says why.
        {{- if .Values.queries.enabled }}
        - alert: ForebayQueriesStale
          expr: time() - min(forebay_queries_current_timestamp_seconds{{ $of }}) > {{ $alerts.queriesSeconds }}
          for: 1m
          labels: {severity: warning, service: {{ $service }}, release: {{ .Release.Name }}}
          annotations:
            summary: Queries of {{ $service }} are answered from rows older than {{ $alerts.queriesSeconds }} s
            description: The changelogs can't be read. The reason is in the log - kubectl logs deployment/{{ include "forebay.queries.name" . }}.
        {{- end }}
{{- end -}}
