{{/* The driver: one pod, never two; and the name under which executors reach it. */}}

{{/* What a command is told of the job, beside its own name and arguments. */}}
{{- define "forebay.driver.options" -}}
{{- $checkpoint := .Values.checkpoint.url | default (printf "/checkpoint/%s" (include "forebay.application" .)) -}}
{{- $args := list (include "forebay.service.name" .) "--application" (include "forebay.application" .)
    "--executors" (include "forebay.executors" .) "--driver-host" (include "forebay.driver.host" .)
    "--checkpoint" $checkpoint "--memory" .Values.driver.memory "--tasks" (toString .Values.tasks)
    "--http-host" "0.0.0.0" "--http-port" "8080" "--log-format" .Values.logFormat -}}
{{- with include "forebay.spark.secret.option" . }}
{{- $args = append $args . -}}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- $args = concat $args (list "--set" (printf "%s=%s" $name (toString $value))) -}}
{{- end }}
{{- range $name, $value := .Values.options }}
{{- $args = append $args (printf "--%s=%s" $name (toString $value)) -}}
{{- end }}
{{- range $name, $value := .Values.spark }}
{{- $args = concat $args (list "--conf" (printf "%s=%s" $name (toString $value))) -}}
{{- end }}
{{- range $args }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "forebay.driver" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "forebay.metadata" (list . "driver" (include "forebay.fullname" .)) | nindent 2 }}
spec:
  replicas: {{ if .Values.maintenance.command }}0{{ else }}1{{ end }}
  serviceName: {{ include "forebay.fullname" . }}
  # With OrderedReady a pod that never becomes ready would also block the rollback.
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "forebay.selector" (list . "driver") | nindent 6 }}
  template:
    {{- include "forebay.driver.pod" . | nindent 4 }}
      initContainers:
        {{- include "forebay.preparation" . | nindent 8 }}
      containers:
        - name: driver
          args:
            - run
            {{- include "forebay.driver.options" . | trim | nindent 12 }}
          {{- include "forebay.driver.container" . | nindent 10 }}
          startupProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 15
            timeoutSeconds: 10
            failureThreshold: 4
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 3
            timeoutSeconds: 5
            failureThreshold: 1
{{- end -}}

{{/* A pod that conducts the job, but for its containers. */}}
{{- define "forebay.driver.pod" -}}
metadata:
  labels:
    {{- include "forebay.podLabels" (list . "driver") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "forebay.podAnnotations" . | nindent 2 }}
spec:
  serviceAccountName: {{ include "forebay.serviceAccount" . }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.driver.terminationGracePeriodSeconds }}
  {{- with include "forebay.pullSecrets" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "forebay.podSecurity" . | nindent 2 }}
  {{- include "forebay.placement" (list . "driver" .Values.driver) | nindent 2 }}
  {{- include "forebay.volumes" . | nindent 2 }}
    {{- with include "forebay.job.volumes" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "forebay.driver.container" -}}
{{ include "forebay.image" . }}
{{ include "forebay.containerSecurity" . }}
{{ include "forebay.env" . }}
{{ include "forebay.envFrom" . }}
  {{- with include "forebay.checkpoint.secret" . }}
  {{- . | nindent 2 }}
  {{- end }}
ports:
  - name: http
    containerPort: 8080
  - name: rpc
    containerPort: 7078
  - name: blocks
    containerPort: 7079
resources:
  {{- toYaml .Values.driver.resources | nindent 2 }}
{{ include "forebay.mounts" . }}
  {{- with include "forebay.job.mounts" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "forebay.driver.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "forebay.metadata" (list . "driver" (include "forebay.fullname" .)) | nindent 2 }}
spec:
  clusterIP: None
  # Executors must reach the driver before its first batch is through.
  publishNotReadyAddresses: true
  selector:
    {{- include "forebay.selector" (list . "driver") | nindent 4 }}
  ports:
    - {name: http, port: 8080, targetPort: http}
    - {name: rpc, port: 7078, targetPort: rpc}
    - {name: blocks, port: 7079, targetPort: blocks}
{{- end -}}
