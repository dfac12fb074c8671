{{/* The ServiceAccount of a chart's pods. A pod that needs its token mounts it explicitly. */}}

{{- define "forebay.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "forebay.fullname" .) }}
{{- end -}}

{{- define "forebay.serviceAccount.resource" -}}
{{- if .Values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "forebay.metadata" (list . "access" (include "forebay.serviceAccount" .) .Values.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}

{{/* An account without rights. Kubernetes creates and stores the tokens of the Secrets, so that manifests contain no secret
     and every rendering is the same. */}}
{{- define "forebay.secrets.account" -}}
{{ include "forebay.fullname" . }}-secrets
{{- end -}}

{{/* A Secret with a token. Arguments: list of context, component and name. */}}
{{- define "forebay.secrets.token" -}}
apiVersion: v1
kind: Secret
metadata:
  {{- $account := dict "kubernetes.io/service-account.name" (include "forebay.secrets.account" (index . 0)) }}
  {{- include "forebay.metadata" (append . $account) | nindent 2 }}
type: kubernetes.io/service-account-token
{{- end -}}
