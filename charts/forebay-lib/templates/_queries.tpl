{{/* Query servers: they follow the job's changelogs and answer for it; as many as are wanted, each with all rows. */}}

{{- define "forebay.queries.name" -}}
{{ include "forebay.fullname" . }}-queries
{{- end -}}

{{- define "forebay.queries" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "forebay.metadata" (list . "queries" (include "forebay.queries.name" .)) | nindent 2 }}
spec:
  replicas: {{ .Values.queries.replicas }}
  selector:
    matchLabels:
      {{- include "forebay.selector" (list . "queries") | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "forebay.podLabels" (list . "queries") | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- include "forebay.podAnnotations" . | nindent 6 }}
    spec:
      serviceAccountName: {{ include "forebay.serviceAccount" . }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with include "forebay.pullSecrets" . }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- include "forebay.podSecurity" . | nindent 6 }}
      {{- include "forebay.placement" (list . "queries" .Values.queries) | nindent 6 }}
      initContainers:
        {{- include "forebay.preparation" . | nindent 8 }}
      containers:
        - name: queries
          {{- include "forebay.image" . | nindent 10 }}
          args:
            - queries
            - {{ include "forebay.service.name" . }}
            - --application={{ include "forebay.application" . }}
            - --every-ms={{ int .Values.queries.everyMs }}
            - --http-host=0.0.0.0
            - --http-port=7070
            - --log-format={{ .Values.logFormat }}
            {{- range $name, $value := .Values.settings }}
            - {{ printf "--set=%s=%s" $name (toString $value) | quote }}
            {{- end }}
          {{- include "forebay.containerSecurity" . | nindent 10 }}
          {{- include "forebay.env" . | nindent 10 }}
          {{- include "forebay.envFrom" . | nindent 10 }}
          ports:
            - name: http
              containerPort: 7070
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 15
            timeoutSeconds: 10
            failureThreshold: 4
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 3
            timeoutSeconds: 5
            failureThreshold: 1
          resources:
            {{- toYaml .Values.queries.resources | nindent 12 }}
          {{- include "forebay.mounts" . | nindent 10 }}
      {{- include "forebay.volumes" . | nindent 6 }}
{{- end -}}

{{- define "forebay.queries.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "forebay.metadata" (list . "queries" (include "forebay.queries.name" .)) | nindent 2 }}
spec:
  selector:
    {{- include "forebay.selector" (list . "queries") | nindent 4 }}
  ports:
    - {name: http, port: 7070, targetPort: http}
{{- end -}}
