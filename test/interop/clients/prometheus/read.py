"""Reads the OpenMetrics text of the file named first as Prometheus' own library does, and prints what it found."""
import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read())
print(json.dumps({
    family.name: {
        "type": family.type,
        "unit": family.unit,
        "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
    }
    for family in families
}))
