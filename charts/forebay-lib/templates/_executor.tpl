{{/* The executors: as many as `kubectl scale` says. */}}

{{- define "forebay.executor" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "forebay.metadata" (list . "executor" (include "forebay.executors" .)) | nindent 2 }}
spec:
  {{- if not .Values.executor.autoscaling.enabled }}
  replicas: {{ include "forebay.executor.replicas" . }}
  {{- end }}
  serviceName: {{ include "forebay.executors" . }}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "forebay.selector" (list . "executor") | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "forebay.podLabels" (list . "executor") | nindent 8 }}
        spark-role: executor
        spark-app-selector: {{ include "forebay.executors" . }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- include "forebay.podAnnotations" . | nindent 6 }}
    spec:
      serviceAccountName: {{ include "forebay.serviceAccount" . }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .Values.executor.terminationGracePeriodSeconds }}
      {{- with include "forebay.pullSecrets" . }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- include "forebay.podSecurity" . | nindent 6 }}
      {{- include "forebay.placement" (list . "executor" .Values.executor) | nindent 6 }}
      containers:
        - name: executor
          {{- include "forebay.image" . | nindent 10 }}
          args:
            - executor
            - --driver={{ include "forebay.driver.host" . }}
            - --application={{ include "forebay.executors" . }}
            - --memory={{ .Values.executor.memory }}
            {{- with include "forebay.spark.secret.option" . }}
            - {{ . }}
            {{- end }}
          {{- include "forebay.containerSecurity" . | nindent 10 }}
          {{- include "forebay.env" . | nindent 10 }}
          {{- with include "forebay.checkpoint.secret" . }}
          envFrom:
            {{- . | nindent 12 }}
          {{- end }}
          ports:
            - name: blocks
              containerPort: 7079
          readinessProbe:
            tcpSocket: {port: blocks}
            periodSeconds: 3
            timeoutSeconds: 5
            failureThreshold: 2
          resources:
            {{- toYaml .Values.executor.resources | nindent 12 }}
          {{- include "forebay.mounts" . | nindent 10 }}
            {{- with include "forebay.job.mounts" . | trim }}
            {{- . | nindent 12 }}
            {{- end }}
      {{- include "forebay.volumes" . | nindent 6 }}
        {{- with include "forebay.job.volumes" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* An upgrade keeps what `kubectl scale` has set, unless the values ask for a number. */}}
{{- define "forebay.executor.replicas" -}}
{{- $running := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "forebay.executors" .) -}}
{{- if not (kindIs "invalid" .Values.executor.replicas) -}}
{{ .Values.executor.replicas }}
{{- else if $running -}}
{{ $running.spec.replicas }}
{{- else -}}
1
{{- end -}}
{{- end -}}

{{- define "forebay.executor.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "forebay.metadata" (list . "executor" (include "forebay.executors" .)) | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "forebay.selector" (list . "executor") | nindent 4 }}
  ports:
    - {name: blocks, port: 7079, targetPort: blocks}
{{- end -}}

{{- define "forebay.executor.scaler" -}}
{{- $auto := .Values.executor.autoscaling -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "forebay.metadata" (list . "executor" (include "forebay.executors" .)) | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: StatefulSet
    name: {{ include "forebay.executors" . }}
  {{- /* A command in the driver's place needs an executor, though no lag asks for one. */}}
  minReplicaCount: {{ if .Values.maintenance.command }}{{ max 1 $auto.minReplicas }}{{ else }}{{ $auto.minReplicas }}{{ end }}
  maxReplicaCount: {{ $auto.maxReplicas }}
  # KEDA's own cooldown is for the step to 0 only.
  cooldownPeriod: {{ $auto.cooldownSeconds }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleDown:
          stabilizationWindowSeconds: {{ $auto.cooldownSeconds }}
  triggers:
    {{- range splitList "," (index .Chart.Annotations "forebay/inputs") }}
    - type: kafka
      metadata:
        bootstrapServers: {{ include "forebay.bootstrapServers.anywhere" $ | quote }}
        consumerGroup: {{ include "forebay.application" $ }}-marker
        topic: {{ . }}
        lagThreshold: {{ $auto.lagThreshold | quote }}
        offsetResetPolicy: earliest
        limitToPartitionsWithLag: "false"
      {{- with $auto.triggerAuthentication }}
      authenticationRef:
        name: {{ . }}
      {{- end }}
    {{- end }}
{{- end -}}
