{{/* Image and broker: the chart's own values, else the umbrella's global ones, else those of the release. */}}

{{- define "forebay.image" -}}
{{- $own := .Values.image -}}
{{- $global := ((.Values.global).image) | default dict -}}
{{- $repository := $own.repository | default $global.repository | default "forebay" -}}
{{- $tag := $own.tag | default $global.tag | default .Chart.AppVersion -}}
image: {{ printf "%s:%s" $repository $tag | quote }}
imagePullPolicy: {{ $own.pullPolicy | default $global.pullPolicy | default "IfNotPresent" }}
{{- end -}}

{{- define "forebay.pullSecrets" -}}
{{- with .Values.image.pullSecrets | default (((.Values.global).image).pullSecrets) }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* A setting of the connection: own, global, or "". Arguments: list of context and name. */}}
{{- define "forebay.kafka.value" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $global := (($root.Values.global).kafka) | default dict -}}
{{- get $root.Values.kafka $name | default (get $global $name) -}}
{{- end -}}

{{- define "forebay.bootstrapServers" -}}
{{- include "forebay.kafka.value" (list . "bootstrapServers") | default (printf "%s:9092" (include "forebay.platform.name" (list . "broker"))) -}}
{{- end -}}

{{/* The broker's address for pods of other namespaces: a name without a dot is a Service of this namespace. */}}
{{- define "forebay.bootstrapServers.anywhere" -}}
{{- $namespace := .Release.Namespace -}}
{{- $servers := list -}}
{{- range splitList "," (include "forebay.bootstrapServers" .) -}}
{{- $servers = append $servers (regexReplaceAll "^([A-Za-z0-9-]+)(:[0-9]+)?$" (trim .) (printf "${1}.%s.svc${2}" $namespace)) -}}
{{- end -}}
{{- join "," $servers -}}
{{- end -}}

{{- define "forebay.schemaRegistryUrl" -}}
{{- $own := printf "http://%s:8080/apis/ccompat/v7" (include "forebay.platform.name" (list . "registry")) -}}
{{- include "forebay.kafka.value" (list . "schemaRegistryUrl") | default $own -}}
{{- end -}}

{{/* Settings that are not secret, as environment variables in a ConfigMap. */}}
{{- define "forebay.config.data" -}}
{{- $options := merge (dict) .Values.kafka.options ((((.Values.global).kafka).options) | default dict) -}}
FOREBAY_BOOTSTRAP_SERVERS: {{ include "forebay.bootstrapServers" . | quote }}
FOREBAY_SCHEMA_REGISTRY_URL: {{ include "forebay.schemaRegistryUrl" . | quote }}
{{- if include "forebay.kafka.value" (list . "tlsSecret") }}
FOREBAY_KAFKA_SSL_CA_LOCATION: /etc/forebay/kafka-tls/ca.crt
{{- end }}
{{- range $name, $value := $options }}
FOREBAY_KAFKA_{{ $name | replace "." "_" | upper }}: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "forebay.config" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "forebay.metadata" (list . "config" (include "forebay.fullname" .)) | nindent 2 }}
data:
  {{- include "forebay.config.data" . | nindent 2 }}
{{- end -}}

{{- define "forebay.envFrom" -}}
envFrom:
  - configMapRef:
      name: {{ include "forebay.fullname" . }}
  {{- with include "forebay.kafka.value" (list . "existingSecret") }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end -}}
