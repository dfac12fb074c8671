{{/* KSML definition files: a ConfigMap that every pod of the release mounts. Empty without definitions. */}}

{{- define "forebay.ksml.given" -}}
{{- if ((.Values.ksml).definitions) }}true{{ end -}}
{{- end -}}

{{- define "forebay.ksml.folder" -}}/etc/forebay/ksml{{- end -}}

{{- define "forebay.ksml.name" -}}
{{ include "forebay.fullname" . }}-ksml
{{- end -}}

{{- define "forebay.ksml.config" -}}
{{- if include "forebay.ksml.given" . }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "forebay.metadata" (list . "config" (include "forebay.ksml.name" .)) | nindent 2 }}
data:
  {{- toYaml .Values.ksml.definitions | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Environment variables from which the table of services includes the definitions. */}}
{{- define "forebay.ksml.env" -}}
{{- if and (include "forebay.ksml.given" .) .Values.service }}
- name: FOREBAY_KSML
  value: {{ include "forebay.ksml.folder" . }}
- name: FOREBAY_KSML_NAME
  value: {{ .Values.service }}
{{- end }}
{{- end -}}
