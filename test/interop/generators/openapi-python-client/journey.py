"""The calls of every generator's program, with the client that openapi-python-client makes."""

import json
import os

from contracts import Client as Contracts
from contracts.api.contracts import contracts_create, contracts_recipients, contracts_status
from contracts.api.execution import execution_unmark
from contracts.models import CreateContractRequest, Detail, ExecutionUnmarkBody
from router import Client as Router
from router.api.cluster_emails import cluster_emails_show
from router.api.clusters import clusters_list
from router.api.device_grant import device_grant_code
from router.models import DeviceGrantTokenCreateRequest

routing = Router(base_url=os.environ["ROUTER_URL"])
key = {"client-id": os.environ["CLIENT_ID"], "client-secret": os.environ["CLIENT_SECRET"]}
api = Contracts(base_url=os.environ["CONTRACTS_URL"], headers=key)

unmapped = cluster_emails_show.sync_detailed("nobody", client=routing)
body = CreateContractRequest.from_dict(json.loads(os.environ["CONTRACT"]))
created = contracts_create.sync(client=api, body=body)
refused = contracts_status.sync_detailed("T-999", client=api)
assert isinstance(refused.parsed, Detail)
grant = device_grant_code.sync(client=routing, body=DeviceGrantTokenCreateRequest(client_id="demo-cli"))
assert grant.interval == 5
unmarked = execution_unmark.sync(created.id, client=api, body=ExecutionUnmarkBody(note="Not marked"))
assert isinstance(unmarked, Detail)

print(
    json.dumps(
        {
            "clusters": [cluster.cluster_id for cluster in clusters_list.sync(client=routing)],
            "unmapped": [unmapped.status_code, unmapped.parsed.detail],
            "created": contracts_status.sync(created.id, client=api).contract_status,
            "recipients": [
                item.recipient.user.email for item in contracts_recipients.sync(created.id, client=api).items
            ],
            "refused": [refused.status_code, refused.parsed.detail],
        }
    )
)
