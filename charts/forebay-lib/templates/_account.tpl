{{/* The account that a chart's pods run under; who gets its token says so in the pod. */}}

{{- define "forebay.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "forebay.fullname" .) }}
{{- end -}}

{{- define "forebay.serviceAccount.resource" -}}
{{- if .Values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "forebay.metadata" (list . "access" (include "forebay.serviceAccount" .)) | nindent 2 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}
