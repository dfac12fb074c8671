{{/* Egress rules to the configured addresses, as narrow as a NetworkPolicy can express them. */}}

{{/* The list of peers for a host. A name without a dot is a Service of this namespace, a name in .svc is a Service of the
     namespace in the name, and an IP address selects itself. A NetworkPolicy can't express any other name: the list is then
     empty, which allows any peer at the host's port. */}}
{{- define "forebay.network.peers" -}}
{{- $name := splitList "." . -}}
{{- if and (eq (len $name) 1) (not (contains ":" .)) }}
- podSelector: {}
{{- else if regexMatch "\\.svc(\\.|$)" . }}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ regexReplaceAll "^.*?([^.]+)\\.svc(\\..*)?$" . "${1}" }}
{{- else if regexMatch "^[0-9.]+$" . }}
- ipBlock: {cidr: {{ . }}/32}
{{- else if contains ":" . }}
- ipBlock: {cidr: "{{ . | trimPrefix "[" | trimSuffix "]" }}/128"}
{{- end }}
{{- end -}}

{{/* Egress rules for a list of addresses. Arguments: list of configured peers and ports, which replace those of the
     addresses; addresses host[:port]; default port. */}}
{{- define "forebay.network.to" -}}
{{- $chosen := index . 0 -}}
{{- $usual := index . 2 -}}
{{- $ports := dict -}}
{{- range index . 1 -}}
{{- $address := trim . -}}
{{- $host := regexReplaceAll ":[0-9]+$" $address "" -}}
{{- $peers := $chosen.peers | default (include "forebay.network.peers" $host | fromYamlArray) | toJson -}}
{{- $port := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $address) | default $usual | int -}}
{{- $_ := set $ports $peers (append (get $ports $peers | default list) $port | uniq) -}}
{{- end -}}
{{- range $peers, $known := $ports }}
- ports:
    {{- range $chosen.ports | default $known }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with fromJsonArray $peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The egress rule for a URL. Arguments: list of the configured peers and ports, and the URL. */}}
{{- define "forebay.network.toUrl" -}}
{{- $url := urlParse (index . 1) -}}
{{- include "forebay.network.to" (list (index . 0) (list $url.host) (ternary 80 443 (eq $url.scheme "http"))) -}}
{{- end -}}

{{/* Peers and ports of a group of destinations: the chart's values, or the umbrella's, or the pods of the release's own
     broker or registry if no address is set. Arguments: list of context, group, name of its address in kafka, component. */}}
{{- define "forebay.network.chosen" -}}
{{- $root := index . 0 -}}
{{- $group := index . 1 -}}
{{- $own := get $root.Values.networkPolicy.egress $group -}}
{{- $global := get ((((($root.Values.global).networkPolicy).egress)) | default dict) $group | default dict -}}
{{- $peers := $own.peers | default $global.peers | default list -}}
{{- if not (or $peers (include "forebay.kafka.value" (list $root (index . 2)))) -}}
{{- $labels := dict "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/component" (index . 3) -}}
{{- $peers = list (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- dict "peers" $peers "ports" ($own.ports | default $global.ports | default list) | toJson -}}
{{- end -}}

{{/* Egress of every pod that uses Kafka: DNS, the broker, the registry, and the configured rules. */}}
{{- define "forebay.network.kafka" -}}
{{- $egress := .Values.networkPolicy.egress -}}
- to:
    {{- toYaml $egress.dns.peers | nindent 4 }}
  ports:
    {{- range $egress.dns.ports }}
    - {port: {{ . }}, protocol: UDP}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- $kafka := include "forebay.network.chosen" (list . "kafka" "bootstrapServers" "broker") | fromJson -}}
{{ include "forebay.network.to" (list $kafka (splitList "," (include "forebay.bootstrapServers" .)) 9092) }}
{{- $registry := include "forebay.network.chosen" (list . "registry" "schemaRegistryUrl" "registry") | fromJson -}}
{{ include "forebay.network.toUrl" (list $registry (include "forebay.schemaRegistryUrl" .)) }}
{{- with $egress.more }}
{{ toYaml . }}
{{- end }}
{{- end -}}
