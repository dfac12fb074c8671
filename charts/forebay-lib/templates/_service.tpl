{{/* Everything a service's chart holds. */}}
{{- define "forebay.service" -}}
{{ include "forebay.config" . }}
---
{{ include "forebay.driver.service" . }}
---
{{ include "forebay.driver" . }}
{{- if .Values.maintenance.command }}
---
{{ include "forebay.maintenance" . }}
{{- end }}
---
{{ include "forebay.executor.service" . }}
---
{{ include "forebay.executor" . }}
{{- if and .Values.executor.encryption.enabled (not .Values.executor.encryption.existingSecret) }}
---
{{ include "forebay.spark.secret" . }}
{{- end }}
---
{{ include "forebay.disruptionBudget" . }}
{{- if .Values.queries.enabled }}
---
{{ include "forebay.queries.service" . }}
---
{{ include "forebay.queries" . }}
{{- end }}
{{- if .Values.executor.autoscaling.enabled }}
---
{{ include "forebay.executor.scaler" . }}
{{- end }}
{{- if not (or .Values.checkpoint.url .Values.checkpoint.existingClaim) }}
---
{{ include "forebay.checkpoint" . }}
{{- end }}
{{- if .Values.serviceAccount.create }}
---
{{ include "forebay.serviceAccount.resource" . }}
---
{{ include "forebay.role" . }}
---
{{ include "forebay.roleBinding" . }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
---
{{ include "forebay.networkPolicy" . }}
{{- end }}
{{- if .Values.monitoring.podMonitor }}
---
{{ include "forebay.podMonitor" . }}
{{- end }}
{{- if .Values.monitoring.prometheusRule }}
---
{{ include "forebay.prometheusRule" . }}
{{- end }}
---
{{ include "forebay.test" . }}
{{- end -}}
