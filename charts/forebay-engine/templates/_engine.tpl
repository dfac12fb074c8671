{{/* The engine's tokens and volume. */}}

{{- define "forebay.engine.secret.made" -}}
{{- if not .Values.authentication.existingSecret -}}true{{- end -}}
{{- end -}}

{{- define "forebay.engine.secretName" -}}
{{ .Values.authentication.existingSecret | default (printf "%s-token" (include "forebay.fullname" .)) }}
{{- end -}}

{{- define "forebay.engine.claim" -}}
{{ .Values.checkpoint.existingClaim | default (printf "%s-checkpoint" (include "forebay.fullname" .)) }}
{{- end -}}

{{/* A volume with a token. Arguments: its name and its Secret. */}}
{{- define "forebay.engine.token" -}}
- name: {{ index . 0 }}
  secret:
    secretName: {{ index . 1 }}
    defaultMode: 0440
    items: [{key: token, path: token}]
{{- end -}}
