{{/* The pod of the driver, or of a maintenance command that replaces it. */}}

{{/* The job's options. A maintenance command gets them in addition to its own arguments. */}}
{{- define "forebay.driver.options" -}}
{{- $checkpoint := .Values.checkpoint.url | default (printf "/checkpoint/%s" (include "forebay.application" .)) -}}
{{- $args := list (include "forebay.service" .) "--application" (include "forebay.application" .)
    "--executors" (include "forebay.executors" .) "--driver-host" (include "forebay.driver.host" .)
    "--checkpoint" $checkpoint "--memory" .Values.driver.memory "--tasks" (include "forebay.text" .Values.tasks)
    "--http-host" "::" "--http-port" "8080" "--log-format" .Values.logFormat -}}
{{- with include "forebay.spark.secret.option" . }}
{{- $args = append $args . -}}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- $args = concat $args (list "--set" (printf "%s=%s" $name (include "forebay.text" $value))) -}}
{{- end }}
{{- range $name, $topic := .Values.topics.names }}
{{- $args = append $args (printf "--topic=%s=%s" $name $topic) -}}
{{- end }}
{{- range $name, $value := .Values.options }}
{{- $args = append $args (printf "--%s=%s" $name (include "forebay.text" $value)) -}}
{{- end }}
{{- range $name, $value := .Values.spark }}
{{- $args = concat $args (list "--conf" (printf "%s=%s" $name (include "forebay.text" $value))) -}}
{{- end }}
{{- range $args }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The pod of the driver or of a maintenance command, without containers. */}}
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
  automountServiceAccountToken: true
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

{{/* Arguments: list of context and name of the template of the container's environment. */}}
{{- define "forebay.driver.container" -}}
{{- $env := index . 1 -}}
{{- with index . 0 -}}
{{ include "forebay.image" . }}
{{ include "forebay.containerSecurity" . }}
{{ include $env . }}
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
  {{- include "forebay.resources" (list . .Values.driver.resources) | nindent 2 }}
{{ include "forebay.mounts" . }}
  {{- with include "forebay.job.mounts" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Additional mounts of driver and executors: the checkpoint, and the secret of their connections. */}}
{{- define "forebay.job.mounts" -}}
{{- include "forebay.checkpoint.mount" . }}
{{ include "forebay.spark.secret.mount" . }}
{{- end -}}

{{- define "forebay.job.volumes" -}}
{{- include "forebay.checkpoint.volume" . }}
{{ include "forebay.spark.secret.volume" . }}
{{- end -}}

{{/* A service's init containers, which wait for broker and registry and create the service's topics. */}}
{{- define "forebay.preparation" -}}
{{ include "forebay.preparation.step" (list . "wait" (list "wait")) }}
  {{- if .Values.topics.create }}
  {{- $create := list "topics" "create" (include "forebay.service" .) -}}
  {{- if .Values.application }}
  {{- $create = concat $create (list "--application" .Values.application) -}}
  {{- end }}
  {{- if .Values.tasks }}
  {{- $create = concat $create (list "--tasks" (include "forebay.text" .Values.tasks)) -}}
  {{- end }}
  {{- if .Values.topics.replicationFactor }}
  {{- $create = concat $create (list "--replication-factor" (include "forebay.text" .Values.topics.replicationFactor)) -}}
  {{- end }}
  {{- range $name, $topic := .Values.topics.names }}
  {{- $create = append $create (printf "--topic=%s=%s" $name $topic) -}}
  {{- end }}
  {{- include "forebay.preparation.step" (list . "topics" $create) | nindent 0 }}
  {{- end }}
  {{- with .Values.extraInitContainers }}
  {{- toYaml . | nindent 0 }}
  {{- end }}
{{- end -}}
