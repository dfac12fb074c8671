{{/* Image and broker: the chart's own values, or the umbrella's global values, or those of the release. */}}

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

{{/* A setting of the connection: the chart's value, the global value, or "". Arguments: list of context and name. */}}
{{- define "forebay.kafka.value" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $global := (($root.Values.global).kafka) | default dict -}}
{{- $value := get $root.Values.kafka $name | default (get $global $name) -}}
{{- if and (eq $name "bootstrapServers") (not $value) -}}
{{- with include "forebay.strimzi" (list $root "cluster") -}}
{{- $value = printf "%s-kafka-bootstrap:%s" . (include "forebay.strimzi" (list $root "port") | default "9093") -}}
{{- end -}}
{{- end -}}
{{- $value -}}
{{- end -}}

{{/* A setting of Strimzi's cluster: the chart's value, the global value, or "". Settings are looked up independently, so
     that each service can have its own user on a global cluster. Arguments: list of context and name. */}}
{{- define "forebay.strimzi" -}}
{{- $root := index . 0 -}}
{{- $own := $root.Values.kafka.strimzi | default dict -}}
{{- $global := ((($root.Values.global).kafka).strimzi) | default dict -}}
{{- include "forebay.text" (get $own (index . 1) | default (get $global (index . 1)) | default "") -}}
{{- end -}}

{{/* Not empty if a pod mounts certificates: those of tlsSecret, or those that Strimzi writes. */}}
{{- define "forebay.hasCertificates" -}}
{{- or (include "forebay.kafka.value" (list . "tlsSecret")) (include "forebay.strimzi" (list . "cluster")) -}}
{{- end -}}

{{/* Client options for the listener and the KafkaUser of Strimzi's cluster, in YAML. */}}
{{- define "forebay.strimzi.options" -}}
{{- $user := include "forebay.strimzi" (list . "user") -}}
{{- if include "forebay.strimzi" (list . "cluster") -}}
{{- if not $user }}
security.protocol: SSL
{{- else if eq (include "forebay.strimzi" (list . "authentication")) "scram-sha-512" }}
security.protocol: SASL_SSL
sasl.mechanism: SCRAM-SHA-512
sasl.username: {{ $user }}
{{- else }}
security.protocol: SSL
ssl.certificate.location: /etc/forebay/kafka-tls/tls.crt
ssl.key.location: /etc/forebay/kafka-tls/tls.key
{{- end }}
{{- end -}}
{{- end -}}

{{/* The password that Strimzi writes for a KafkaUser with scram-sha-512, as an environment variable. */}}
{{- define "forebay.strimzi.env" -}}
{{- $user := include "forebay.strimzi" (list . "user") -}}
{{- if and $user (include "forebay.strimzi" (list . "cluster")) (eq (include "forebay.strimzi" (list . "authentication")) "scram-sha-512") }}
- name: FOREBAY_KAFKA_SASL_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $user }}, key: password}
{{- end }}
{{- end -}}

{{/* The volume of certificates. Strimzi stores the cluster's CA in one Secret, and the user's certificate in another. */}}
{{- define "forebay.certificates" -}}
{{- $secret := include "forebay.kafka.value" (list . "tlsSecret") -}}
{{- $user := include "forebay.strimzi" (list . "user") -}}
- name: kafka-tls
  {{- if $secret }}
  secret:
    secretName: {{ $secret }}
  {{- else }}
  projected:
    sources:
      - secret:
          name: {{ include "forebay.strimzi" (list . "cluster") }}-cluster-ca-cert
          items: [{key: ca.crt, path: ca.crt}]
      {{- if and $user (ne (include "forebay.strimzi" (list . "authentication")) "scram-sha-512") }}
      - secret:
          name: {{ $user }}
          items: [{key: user.crt, path: tls.crt}, {key: user.key, path: tls.key}]
      {{- end }}
  {{- end }}
{{- end -}}

{{- define "forebay.bootstrapServers" -}}
{{- include "forebay.kafka.value" (list . "bootstrapServers") | default (printf "%s:9092" (include "forebay.platform.name" (list . "broker"))) -}}
{{- end -}}

{{/* The broker's address for pods of other namespaces. A name without a dot is a Service of this namespace. */}}
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
{{- $strimzi := include "forebay.strimzi.options" . | fromYaml | default dict -}}
{{- $options := merge (dict) .Values.kafka.options ((((.Values.global).kafka).options) | default dict) $strimzi -}}
FOREBAY_BOOTSTRAP_SERVERS: {{ include "forebay.bootstrapServers" . | quote }}
FOREBAY_SCHEMA_REGISTRY_URL: {{ include "forebay.schemaRegistryUrl" . | quote }}
{{- if include "forebay.hasCertificates" . }}
FOREBAY_KAFKA_SSL_CA_LOCATION: /etc/forebay/kafka-tls/ca.crt
{{- end }}
{{- range $name, $value := $options }}
FOREBAY_KAFKA_{{ $name | replace "." "_" | upper }}: {{ include "forebay.text" $value | quote }}
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
