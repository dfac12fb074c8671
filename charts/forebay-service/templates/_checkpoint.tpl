{{/* The checkpoint: a volume that driver and executors share, or a URL. Without cleanup, it is kept after an uninstall. */}}

{{- define "forebay.checkpoint.claim" -}}
{{ .Values.checkpoint.existingClaim | default (printf "%s-checkpoint" (include "forebay.fullname" .)) }}
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

{{/* Credentials of the checkpoint as environment variables. Only driver and executors read and write the checkpoint. */}}
{{- define "forebay.checkpoint.secret" -}}
{{- with .Values.checkpoint.existingSecret -}}
- secretRef:
    name: {{ . }}
{{- end -}}
{{- end -}}
