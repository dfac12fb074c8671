{{/* A command in the driver's place: the same pod, the same options, once; the driver rests. */}}

{{- define "forebay.maintenance" -}}
{{- $args := concat .Values.maintenance.command (include "forebay.driver.options" . | fromYamlArray) .Values.maintenance.args -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- /* A Job can't be changed: another command, or other settings, are another Job. */}}
  {{- $name := printf "%s-maintenance-%s" (include "forebay.fullname" .) (list $args (include "forebay.image" .) | toJson | sha256sum | trunc 7) }}
  {{- include "forebay.metadata" (list . "maintenance" $name) | nindent 2 }}
spec:
  # While the driver still finishes its batch, the command is refused the checkpoint.
  backoffLimit: 4
  template:
    {{- include "forebay.driver.pod" . | nindent 4 }}
      restartPolicy: Never
      initContainers:
        {{- include "forebay.preparation.step" (list . "wait" (list "wait")) | nindent 8 }}
      containers:
        - name: maintenance
          args: {{ toJson $args }}
          {{- include "forebay.driver.container" . | nindent 10 }}
{{- end -}}
