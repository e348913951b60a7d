"""Reads exports of spans as OpenTelemetry's own messages: one JSON document on each line of the file named first."""
import json
import sys

from google.protobuf.json_format import MessageToDict, Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

spans = []
services = set()
for line in open(sys.argv[1], encoding="utf-8"):
    # OTLP says ids in hexadecimal digits where JSON of protocol buffers has base64: both are letters to this parser.
    request = Parse(line, ExportTraceServiceRequest(), ignore_unknown_fields=False)
    for resource_spans in request.resource_spans:
        for attribute in resource_spans.resource.attributes:
            if attribute.key == "service.name":
                services.add(attribute.value.string_value)
        for scope_spans in resource_spans.scope_spans:
            for span in MessageToDict(scope_spans)["spans"]:
                kept = {key: span[key] for key in ("traceId", "spanId", "parentSpanId", "name", "kind") if key in span}
                spans.append(kept)
print(json.dumps({"services": sorted(services), "spans": spans}))
