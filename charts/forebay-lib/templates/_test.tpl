{{/* helm test: a committed record of the service's output can be read and decoded. */}}

{{- define "forebay.test" -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "forebay.metadata" (list . "test" (printf "%s-test" (include "forebay.fullname" .))) | nindent 2 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  activeDeadlineSeconds: 300
  serviceAccountName: {{ include "forebay.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with include "forebay.pullSecrets" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "forebay.podSecurity" . | nindent 2 }}
  containers:
    - name: output
      {{- include "forebay.image" . | nindent 6 }}
      args: [tail, {{ index .Chart.Annotations "forebay/output" | quote }}, --from=beginning, --count=1]
      {{- include "forebay.containerSecurity" . | nindent 6 }}
      {{- include "forebay.env" . | nindent 6 }}
      {{- include "forebay.envFrom" . | nindent 6 }}
      resources:
        {{- toYaml .Values.preparation.resources | nindent 8 }}
      {{- include "forebay.mounts" . | nindent 6 }}
  {{- include "forebay.volumes" . | nindent 2 }}
{{- end -}}
