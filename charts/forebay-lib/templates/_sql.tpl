{{/* SQL files: a ConfigMap that every pod of the release mounts. The folder has the service's name. */}}

{{- define "forebay.sql.given" -}}
{{- if ((.Values.sql).files) }}true{{ end -}}
{{- end -}}

{{- define "forebay.sql.folder" -}}/etc/forebay/sql/{{ .Values.service }}{{- end -}}

{{- define "forebay.sql.name" -}}
{{ include "forebay.fullname" . }}-sql
{{- end -}}

{{- define "forebay.sql.config" -}}
{{- if include "forebay.sql.given" . }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "forebay.metadata" (list . "config" (include "forebay.sql.name" .)) | nindent 2 }}
data:
  {{- toYaml .Values.sql.files | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Environment variables with the folder of SQL files, and with its Python files, which define functions. */}}
{{- define "forebay.sql.env" -}}
{{- if include "forebay.sql.given" . }}
{{- $folder := include "forebay.sql.folder" . }}
- name: FOREBAY_SQL
  value: {{ $folder }}
{{- $functions := list }}
{{- range $name, $_ := .Values.sql.files }}
{{- if hasSuffix ".py" $name }}
{{- $functions = append $functions (printf "%s/%s" $folder $name) }}
{{- end }}
{{- end }}
{{- with $functions }}
- name: FOREBAY_SQL_FUNCTIONS
  value: {{ join ":" . }}
{{- end }}
{{- end }}
{{- end -}}
