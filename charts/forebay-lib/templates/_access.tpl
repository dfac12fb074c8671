{{/* What pods may do: the driver follows its executors, nothing else; other pods get no token. */}}

{{- define "forebay.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "forebay.fullname" .) }}
{{- end -}}

{{- define "forebay.serviceAccount.resource" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "forebay.metadata" (list . "access" (include "forebay.serviceAccount" .)) | nindent 2 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: {{ hasKey .Values "driver" }}
{{- end -}}

{{- define "forebay.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "forebay.metadata" (list . "access" (include "forebay.fullname" .)) | nindent 2 }}
rules:
  # Spark watches the executors' pods and labels them with their ids.
  - apiGroups: [""]
    resources: [pods]
    verbs: [get, list, watch, patch]
  # How many executors are wanted.
  - apiGroups: [apps]
    resources: [statefulsets]
    resourceNames: [{{ include "forebay.executors" . }}]
    verbs: [get]
{{- end -}}

{{- define "forebay.roleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "forebay.metadata" (list . "access" (include "forebay.fullname" .)) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "forebay.fullname" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "forebay.serviceAccount" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
