{{/* Rights of a job's user (docs/security.md), as Strimzi writes them. Topics, groups and transactional ids of its own have the
     application's id as their prefix. */}}
{{- define "forebay.strimzi.acls" -}}
{{- $application := include "forebay.application" . -}}
{{- $create := ternary (list "Create" "DescribeConfigs") list .Values.topics.create -}}
{{- range .Values.inputs }}
{{ include "forebay.strimzi.acl" (list "topic" "literal" (get $.Values.topics.names . | default .) (concat (list "Read") $create)) }}
{{- end }}
{{- with .Values.output }}
{{ include "forebay.strimzi.acl" (list "topic" "literal" (get $.Values.topics.names . | default .) (concat (list "Write") $create)) }}
{{- end }}
{{- range list "." "-" }}
{{ include "forebay.strimzi.acl" (list "topic" "prefix" (printf "%s%s" $application .) (concat (list "Read" "Write" "Delete") $create)) }}
{{- end }}
{{ include "forebay.strimzi.acl" (list "group" "prefix" (printf "%s-" $application) (list "Read")) }}
{{ include "forebay.strimzi.acl" (list "transactionalId" "prefix" (printf "%s-group-" $application) (list "Write")) }}
{{- end -}}

{{/* Arguments: list of type, pattern type, name and operations. */}}
{{- define "forebay.strimzi.acl" -}}
- resource: {type: {{ index . 0 }}, patternType: {{ index . 1 }}, name: {{ index . 2 | quote }}}
  operations: [{{ index . 3 | join ", " }}]
{{- end -}}
