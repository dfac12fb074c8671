{{/* Templates for broker and registry. Arguments: list of context, component, values of the component, and more. */}}

{{- define "broker.name" -}}
{{ include "forebay.platform.name" . }}
{{- end -}}

{{- define "broker.image" -}}
{{- $global := ((.Values.global).image) | default dict -}}
{{- $shared := "" -}}
{{- with $global.repository }}{{ $shared = printf "%s-platform" . }}{{ end -}}
{{- $repository := .Values.image.repository | default $shared | default "forebay-platform" -}}
{{- $tag := .Values.image.tag | default $global.tag | default .Chart.AppVersion -}}
image: {{ printf "%s:%s" $repository $tag | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy | default $global.pullPolicy | default "IfNotPresent" }}
{{- end -}}

{{- define "broker.statefulSet" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index . 2 -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "forebay.metadata" (list $root $component (include "broker.name" .)) | nindent 2 }}
spec:
  replicas: 1
  serviceName: {{ include "broker.name" . }}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "forebay.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "forebay.podLabels" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- /* The broker ignores SIGTERM as a container's first process, and must end as in a crash (see `forebay serve`). */}}
      terminationGracePeriodSeconds: {{ eq $component "broker" | ternary 1 60 }}
      {{- with include "forebay.pullSecrets" $root }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- include "forebay.podSecurity" $root | nindent 6 }}
      containers:
        - name: {{ $component }}
          {{- include "broker.image" $root | nindent 10 }}
          args: {{ index . 3 | toJson }}
          {{- include "forebay.containerSecurity" $root | nindent 10 }}
          env:
            - {name: HOME, value: /tmp}
          ports:
            {{- range $name, $port := index . 4 }}
            - {name: {{ $name }}, containerPort: {{ $port }}}
            {{- end }}
          {{- index . 5 | nindent 10 }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: {{ $root.Values.scratch.sizeLimit }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels:
          {{- include "forebay.selector" . | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $values.persistence.size }}
{{- end -}}

{{- define "broker.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "forebay.metadata" (list (index . 0) (index . 1) (include "broker.name" .)) | nindent 2 }}
spec:
  # Headless: a broker that connects to itself by this name reaches its own pod.
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "forebay.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := index . 2 }}
    - {name: {{ $name }}, port: {{ $port }}, targetPort: {{ $name }}}
    {{- end }}
{{- end -}}
