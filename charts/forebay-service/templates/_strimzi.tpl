{{/* ACLs of a job's user (docs/security.md) in Strimzi's format. The application id is the prefix of the job's own topics,
     groups and transactional ids. The clean-up runs as the same user, and must describe and delete topics and groups. */}}
{{- define "forebay.strimzi.acls" -}}
{{- $application := include "forebay.application" . -}}
{{- $create := ternary (list "Create" "DescribeConfigs") list .Values.topics.create -}}
{{- $own := concat $create (ternary (list "DescribeConfigs") list .Values.cleanup.enabled) | uniq -}}
{{- $output := concat $create (ternary (list "DescribeConfigs" "Delete") list (and .Values.cleanup.enabled .Values.cleanup.outputs)) | uniq -}}
{{- range .Values.inputs }}
{{ include "forebay.strimzi.acl" (list "topic" "literal" (get $.Values.topics.names . | default .) (concat (list "Read") $create)) }}
{{- end }}
{{- with .Values.output }}
{{ include "forebay.strimzi.acl" (list "topic" "literal" (get $.Values.topics.names . | default .) (concat (list "Write") $output)) }}
{{- end }}
{{- range list "." "-" }}
{{ include "forebay.strimzi.acl" (list "topic" "prefix" (printf "%s%s" $application .) (concat (list "Read" "Write" "Delete") $own)) }}
{{- end }}
{{ include "forebay.strimzi.acl" (list "group" "prefix" (printf "%s-" $application) (concat (list "Read") (ternary (list "Delete") list .Values.cleanup.enabled))) }}
{{ include "forebay.strimzi.acl" (list "transactionalId" "prefix" (printf "%s-group-" $application) (list "Write")) }}
{{- end -}}

{{/* A KafkaTopic's name. If a topic's name is not valid in Kubernetes, a hash is appended, so that names stay different. */}}
{{- define "forebay.strimzi.topic" -}}
{{- $name := regexReplaceAll "[^a-z0-9.-]+" (lower .) "-" -}}
{{- $name = regexReplaceAll "[.-]*[.][.-]*" $name "." | trimAll ".-" -}}
{{- if ne $name . -}}
{{- $name = printf "%s-%s" ($name | default "topic") (sha256sum . | trunc 8) -}}
{{- end -}}
{{- include "forebay.shortened" (list $name 253) -}}
{{- end -}}

{{/* Arguments: list of type, pattern type, name and operations. */}}
{{- define "forebay.strimzi.acl" -}}
- resource: {type: {{ index . 0 }}, patternType: {{ index . 1 }}, name: {{ index . 2 | quote }}}
  operations: [{{ index . 3 | join ", " }}]
{{- end -}}
