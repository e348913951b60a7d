"""Holds the Kubernetes manifests of the file named first, and the compose file named second, against their schemas."""
import json
import sys

import jsonschema
import kubernetes_validate
import yaml

manifests, compose, compose_schema = (open(path, encoding="utf-8") for path in sys.argv[1:4])
problems = []
kinds = []
for manifest in yaml.safe_load_all(manifests):
    kinds.append(manifest.get("kind"))
    for version in sys.argv[4:]:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except Exception as error:
            problems.append(f"{manifest.get('kind')} {version}: {error}")
document = yaml.safe_load(compose)
schema = json.load(compose_schema)
problems += [error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(document)]
print(json.dumps({"kinds": kinds, "services": sorted(document["services"]), "problems": problems}))
