"""Reads both texts of metrics as Prometheus' own library does, and prints what it found of each."""
import json

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as text


def read(families):
    return {
        family.name: {
            "type": family.type,
            "unit": family.unit,
            "help": family.documentation,
            "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
        }
        for family in families
    }


def content(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


print(json.dumps({
    "openmetrics": read(openmetrics.text_string_to_metric_families(content("openmetrics"))),
    "text": read(text.text_string_to_metric_families(content("text"))),
}))
