{{- define "forebay.notes.service" -}}
{{- $name := include "forebay.fullname" . -}}
{{- $in := printf "-n %s" .Release.Namespace -}}
{{ .Chart.Name }} reads {{ index .Chart.Annotations "forebay/inputs" }}, writes {{ index .Chart.Annotations "forebay/output" }}.

  state     kubectl {{ $in }} get pods -l app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/name={{ .Chart.Name }}
            kubectl {{ $in }} exec {{ $name }}-0 -c driver -- python -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/readyz').read())"
  log       kubectl {{ $in }} logs {{ $name }}-0 -c driver -f
  output    kubectl {{ $in }} exec {{ $name }}-0 -c driver -- forebay tail {{ index .Chart.Annotations "forebay/output" }} --from beginning --count 3
  scale     kubectl {{ $in }} scale statefulset/{{ $name }}-executor --replicas=3
{{- if .Values.queries.enabled }}
  query     kubectl {{ $in }} port-forward service/{{ include "forebay.queries.name" . }} 7070
            curl localhost:7070/stores
{{- end }}
  test      helm {{ $in }} test {{ .Release.Name }}

If it isn't ready:
  Init:0/2 (wait)     the broker or the registry does not answer: kubectl {{ $in }} logs {{ $name }}-0 -c wait names the address
  Init:1/2 (topics)   a topic differs from what is declared, or may not be made: ... logs {{ $name }}-0 -c topics
  Pending             no node has the CPU or memory requested, or the volume can't be attached there: kubectl {{ $in }} describe pod {{ $name }}-0
  executors Pending   on several nodes the checkpoint needs ReadWriteMany (checkpoint.accessModes) or a URL (checkpoint.url)
  CrashLoopBackOff    the last line of the log says what happened and what to do: ... logs {{ $name }}-0 -c driver --previous
  Running, not ready  /readyz (above) gives the reason, such as a broker that is away; it goes on by itself
{{- end -}}

{{- define "forebay.notes.producer" -}}
{{ .Chart.Name }} writes {{ .Values.rate }} events a second to {{ include "forebay.producer.topic" . }}.

  log       kubectl -n {{ .Release.Namespace }} logs -l app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/name={{ .Chart.Name }} -f
  faster    helm -n {{ .Release.Namespace }} upgrade {{ .Release.Name }} CHART --reuse-values --set rate=1000
{{- end -}}
