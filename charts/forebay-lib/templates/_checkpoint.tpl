{{/* The checkpoint: a volume that driver and executors share, or a URL. It outlives the release. */}}

{{- define "forebay.checkpoint.claim" -}}
{{ .Values.checkpoint.existingClaim | default (printf "%s-checkpoint" (include "forebay.fullname" .)) }}
{{- end -}}

{{- define "forebay.checkpoint" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "forebay.metadata" (list . "checkpoint" (include "forebay.checkpoint.claim" .)) | nindent 2 }}
  annotations:
    helm.sh/resource-policy: keep
spec:
  accessModes:
    {{- toYaml .Values.checkpoint.accessModes | nindent 4 }}
  {{- with .Values.checkpoint.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ .Values.checkpoint.size }}
{{- end -}}

{{- define "forebay.checkpoint.mount" -}}
{{- if not .Values.checkpoint.url -}}
- name: checkpoint
  mountPath: /checkpoint
{{- end -}}
{{- end -}}

{{- define "forebay.checkpoint.volume" -}}
{{- if not .Values.checkpoint.url -}}
- name: checkpoint
  persistentVolumeClaim:
    claimName: {{ include "forebay.checkpoint.claim" . }}
{{- end -}}
{{- end -}}

{{/* Who may use it, as environment variables: driver and executors read and write it, nobody else. */}}
{{- define "forebay.checkpoint.secret" -}}
{{- with .Values.checkpoint.existingSecret -}}
- secretRef:
    name: {{ . }}
{{- end -}}
{{- end -}}
