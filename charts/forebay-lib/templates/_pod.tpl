{{/* Settings of all pods. They satisfy the Restricted Pod Security Standard. */}}

{{/* OpenShift assigns each namespace its own range of ids, and refuses pods that request other ids. */}}
{{- define "forebay.podSecurity" -}}
{{- $context := .Values.podSecurityContext -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" -}}
{{- end -}}
{{- with $context }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "forebay.containerSecurity" -}}
{{- /* `kubectl describe` then shows a container's last log lines, which contain the cause and the remedy. */ -}}
terminationMessagePolicy: FallbackToLogsOnError
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "forebay.env" -}}
env:
  - name: HOME
    value: /tmp
  - name: FOREBAY_HOME
    value: /tmp/forebay
  - name: SPARK_LOCAL_DIRS
    value: /tmp/spark
  - name: MALLOC_ARENA_MAX
    value: "2"
  - name: POD_NAME
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  - name: POD_UID
    valueFrom:
      fieldRef:
        fieldPath: metadata.uid
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: SPARK_LOCAL_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  {{- $ksml := include "forebay.ksml.env" . | trim }}
  {{- $sql := include "forebay.sql.env" . | trim }}
  {{- $services := compact (list (ternary "forebay.ksml.mounted" "" (ne $ksml "")) (ternary "forebay.sql.service" "" (ne $sql ""))) }}
  {{- with $services }}
  - name: FOREBAY_SERVICES
    value: {{ concat . (compact (list (get $.Values.env "FOREBAY_SERVICES"))) | join "," }}
  {{- end }}
  {{- range $name, $value := .Values.env }}
  {{- if not (and $services (eq $name "FOREBAY_SERVICES")) }}
  - name: {{ $name }}
    {{- if kindIs "map" $value }}
    {{- toYaml $value | nindent 4 }}
    {{- else }}
    value: {{ include "forebay.text" $value | quote }}
    {{- end }}
  {{- end }}
  {{- end }}
  {{- range compact (list $ksml $sql (include "forebay.strimzi.env" . | trim)) }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The environment of a container that runs until it is stopped. If its certificates change, it ends and its controller
     restarts it. A command that ends by itself must not do so: its Job would be complete with a part of the work. */}}
{{- define "forebay.env.restarted" -}}
{{ include "forebay.env" . }}
  {{- if and (include "forebay.hasCertificates" .) (not (hasKey .Values.env "FOREBAY_WATCH")) }}
  # When the certificates change, the container starts again, and its clients read them.
  - name: FOREBAY_WATCH
    value: /etc/forebay/kafka-tls
  {{- end }}
{{- end -}}

{{/* Pods leave a node that does not answer after lostNodeSeconds. Kubernetes' default is 300. */}}
{{- define "forebay.lostNode" -}}
{{- range list "not-ready" "unreachable" }}
- {key: node.kubernetes.io/{{ . }}, operator: Exists, effect: NoExecute, tolerationSeconds: {{ int ($.Values.lostNodeSeconds | default 10) }}}
{{- end }}
{{- end -}}

{{/* Scheduling constraints of a pod. Arguments: list of context, component, and the component's values. */}}
{{- define "forebay.placement" -}}
{{- $root := index . 0 -}}
{{- $chosen := pick (index . 2) "nodeSelector" "tolerations" "affinity" "priorityClassName" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "forebay.selector" (list $root (index . 1)) | nindent 8 }}
{{- $chosen = set $chosen "tolerations" (concat (include "forebay.lostNode" $root | fromYamlArray) ($chosen.tolerations | default list)) -}}
{{- range $name, $value := $chosen }}
{{- if $value }}
{{- toYaml (dict $name $value) | nindent 0 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Requests and limits of a container, with those of ephemeral storage. Arguments: list of context and resources. */}}
{{- define "forebay.resources" -}}
{{- $scratch := (index . 0).Values.scratch -}}
{{- $resources := deepCopy (index . 1) -}}
{{- range $kind, $size := dict "requests" $scratch.request "limits" $scratch.limit -}}
{{- if $size -}}
{{- $_ := set $resources $kind (merge (get $resources $kind | default dict) (dict "ephemeral-storage" $size)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "forebay.mounts" -}}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if include "forebay.hasCertificates" . }}
  - name: kafka-tls
    mountPath: /etc/forebay/kafka-tls
    readOnly: true
  {{- end }}
  {{- if include "forebay.ksml.given" . }}
  - name: ksml
    mountPath: {{ include "forebay.ksml.folder" . }}
    readOnly: true
  {{- end }}
  {{- if include "forebay.sql.given" . }}
  - name: sql
    mountPath: {{ include "forebay.sql.folder" . }}
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "forebay.volumes" -}}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: {{ .Values.scratch.sizeLimit }}
  {{- if include "forebay.hasCertificates" . }}
  {{- include "forebay.certificates" . | nindent 2 }}
  {{- end }}
  {{- if include "forebay.ksml.given" . }}
  - name: ksml
    configMap:
      name: {{ include "forebay.ksml.name" . }}
  {{- end }}
  {{- if include "forebay.sql.given" . }}
  - name: sql
    configMap:
      name: {{ include "forebay.sql.name" . }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* An init container. Arguments: list of context, name and arguments. */}}
{{- define "forebay.preparation.step" -}}
{{- $root := index . 0 -}}
- name: {{ index . 1 }}
  {{- include "forebay.image" $root | nindent 2 }}
  args: {{ index . 2 | toJson }}
  {{- include "forebay.containerSecurity" $root | nindent 2 }}
  {{- include "forebay.env" $root | nindent 2 }}
  {{- include "forebay.envFrom" $root | nindent 2 }}
  {{- include "forebay.mounts" $root | nindent 2 }}
  resources:
    {{- toYaml $root.Values.preparation.resources | nindent 4 }}
{{- end -}}

{{/* The checksums restart the pods if settings change. */}}
{{- define "forebay.podAnnotations" -}}
annotations:
  checksum/config: {{ include "forebay.config.data" . | sha256sum }}
  {{- if include "forebay.ksml.given" . }}
  checksum/ksml: {{ toJson .Values.ksml.definitions | sha256sum }}
  {{- end }}
  {{- if include "forebay.sql.given" . }}
  checksum/sql: {{ toJson .Values.sql.files | sha256sum }}
  {{- end }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
